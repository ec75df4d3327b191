import { Menu } from '@base-ui/react/menu';
import { Icon } from '../components/icon.tsx';
import { type DropdownProps, TRIGGER_LOOK } from './dropdown.tsx';

const ITEM =
  'flex cursor-pointer items-center justify-between gap-6 rounded px-2.5 py-1.5 outline-none data-highlighted:bg-hover';

/** Open from the start: it is made when its button was pressed. */
export function DropdownMenu({
  label,
  trigger,
  choices,
  chosen,
  onChoose,
  links = [],
  actions = [],
  side,
}: DropdownProps) {
  return (
    <Menu.Root defaultOpen>
      <Menu.Trigger aria-label={label} className={`${TRIGGER_LOOK} bg-sunken hover:border-line-strong`}>
        {trigger}
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="start" side={side} sideOffset={4} className="z-50 outline-none">
          <Menu.Popup className="max-h-[60vh] min-w-56 overflow-y-auto rounded-lg border bg-surface p-1 shadow-raised outline-none">
            <Menu.RadioGroup value={chosen} onValueChange={(value: string) => onChoose(value)}>
              {choices.map(({ value, title, note }) => (
                <Menu.RadioItem key={value} value={value} closeOnClick className={ITEM}>
                  <span>
                    <span className="block">{title}</span>
                    {note === undefined ? null : <span className="block text-xs text-muted">{note}</span>}
                  </span>
                  <Menu.RadioItemIndicator>
                    <Icon name="check" />
                  </Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            {links.length + actions.length === 0 ? null : <Menu.Separator className="my-1 h-px bg-line" />}
            {links.map(({ title, href }) => (
              <Menu.LinkItem key={href} href={href} target="_blank" rel="noreferrer" className={ITEM}>
                {title}
                <Icon name="external" />
              </Menu.LinkItem>
            ))}
            {actions.map(({ title, run }) => (
              <Menu.Item key={title} className={ITEM} onClick={run}>
                {title}
              </Menu.Item>
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
