import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Dialog as Base } from '@base-ui/react/dialog';
import { useNavigate } from '@tanstack/react-router';
import { useSession } from '../../app/session.tsx';
import { Icon } from '../../components/icon.tsx';
import { useToast } from '../../components/toast.tsx';
import { count } from '../../lib/format.ts';
import { fixedItems, type Item, matching } from './palette-items.ts';
import { useExactDeployment, useNamedRecords } from './palette-records.ts';

const MOVES: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

function useItems(text: string): { readonly items: readonly Item[]; readonly isPartial: boolean } {
  const { can, signOut } = useSession();
  const { failed } = useToast();
  const { items: records, isPartial } = useNamedRecords();
  const exact = useExactDeployment(text.trim(), isPartial);
  const fixed = useMemo(
    () => [
      ...fixedItems(can),
      {
        id: 'sign-out',
        group: 'Do',
        title: 'Sign out',
        icon: 'user',
        run: () => void signOut().catch(failed),
      } satisfies Item,
    ],
    [can, signOut, failed],
  );
  const items = useMemo(() => {
    // Nothing was asked yet: what can be done, not thousands of names.
    if (text.trim() === '') return fixed;
    const known = new Set(records.map(({ id }) => id));
    return matching([...fixed, ...records, ...exact.filter(({ id }) => !known.has(id))], text);
  }, [fixed, records, exact, text]);
  return { items, isPartial };
}

function Option({
  item,
  id,
  isChosen,
  onPoint,
  onPick,
}: {
  readonly item: Item;
  readonly id: string;
  readonly isChosen: boolean;
  readonly onPoint: () => void;
  readonly onPick: () => void;
}) {
  return (
    // The focus stays in the field, which has the keys.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
    <div
      role="option"
      id={id}
      aria-selected={isChosen}
      onMouseMove={onPoint}
      onClick={onPick}
      className={`flex cursor-pointer items-center gap-3 rounded-md px-3 py-2 ${isChosen ? 'bg-accent-soft text-accent' : ''}`}
    >
      <Icon name={item.icon} className="size-4" />
      <span className="min-w-0 flex-1 truncate">{item.title}</span>
      {isChosen ? (
        <kbd aria-hidden="true" className="text-2xs text-muted">
          Enter
        </kbd>
      ) : null}
    </div>
  );
}

/** Pages, actions and records by name; arrows choose, Enter goes there, Escape closes and gives the focus back. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const { items, isPartial } = useItems(text);
  const own = useId();
  const list = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, items.length - 1);
  const optionId = (index: number) => `${own}-${index}`;
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen, items]);
  const pick = (item: Item | undefined) => {
    if (item === undefined) return;
    onClose();
    item.run?.();
    if (item.to !== undefined) void navigate({ to: item.to, search: item.search ?? {} });
  };
  const press = (event: KeyboardEvent) => {
    // Keys choose among letters then.
    if (event.nativeEvent.isComposing) return;
    const move = MOVES[event.key];
    if (move !== undefined && items.length > 0) {
      event.preventDefault();
      setAt((chosen + move + items.length) % items.length);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      pick(items[chosen]);
    }
  };
  const groups = [...new Set(items.map(({ group }) => group))];
  return (
    <Base.Root open onOpenChange={(open) => open || onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-black/45" />
        <Base.Popup className="fixed top-[12dvh] left-1/2 z-50 flex max-h-[70dvh] w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 flex-col overflow-hidden rounded-xl border bg-surface shadow-raised outline-none">
          <Base.Title className="sr-only">Go to or do</Base.Title>
          <div className="flex items-center gap-3 border-b px-4">
            <Icon name="search" />
            <input
              role="combobox"
              aria-label="Find pages, actions and records"
              aria-expanded
              aria-controls={`${own}-list`}
              aria-activedescendant={items.length === 0 ? undefined : optionId(chosen)}
              aria-autocomplete="list"
              autoComplete="off"
              spellCheck={false}
              placeholder="Find a page, an action or a record by name"
              value={text}
              onChange={(event) => {
                setText(event.target.value);
                setAt(0);
              }}
              onKeyDown={press}
              className="h-12 min-w-0 flex-1 bg-transparent outline-none placeholder:text-faint"
            />
            <Base.Close className="rounded border px-1.5 py-0.5 text-2xs text-muted hover:bg-hover">
              Esc<span className="sr-only">: close</span>
            </Base.Close>
          </div>
          <div
            ref={list}
            id={`${own}-list`}
            role="listbox"
            aria-label="Found"
            className="min-h-0 overflow-y-auto p-2"
          >
            {groups.map((group) => (
              // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role
              <div key={group} role="group" aria-label={group}>
                <p aria-hidden="true" className="px-3 pt-2 pb-1 text-2xs text-faint uppercase">
                  {group}
                </p>
                {items.map((item, index) =>
                  item.group === group ? (
                    <Option
                      key={item.id}
                      item={item}
                      id={optionId(index)}
                      isChosen={index === chosen}
                      onPoint={() => setAt(index)}
                      onPick={() => pick(item)}
                    />
                  ) : null,
                )}
              </div>
            ))}
          </div>
          <p role="status" className="border-t px-4 py-2 text-xs text-muted">
            {items.length === 0 ? 'Nothing matches' : count(items.length, 'entry', 'entries')}
            {isPartial && text.trim() !== ''
              ? '. There are more records than were looked through: a whole name finds any deployment.'
              : ''}
          </p>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
