import { mayOpen } from '../../app/pages.ts';
import { useSession } from '../../app/session.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { GO } from './shortcuts.ts';

const GENERAL: readonly (readonly [keys: readonly string[], what: string])[] = [
  [['Ctrl', 'K'], 'Find a page, an action or a record (⌘ K on a Mac)'],
  [['/'], 'Search on this page'],
  [['?'], 'This list'],
  [['Esc'], 'Close what is open'],
];

function Keys({ keys }: { readonly keys: readonly string[] }) {
  return (
    <span className="flex gap-1">
      {keys.map((key) => (
        <kbd
          key={key}
          className="min-w-6 rounded border border-line-strong bg-sunken px-1.5 text-center font-mono text-xs"
        >
          {key}
        </kbd>
      ))}
    </span>
  );
}

/** All keys that do something on every page. */
export function ShortcutHelp({ onClose }: { readonly onClose: () => void }) {
  const { can } = useSession();
  const shown = [
    ...GENERAL,
    ...Object.entries(GO)
      .filter(([, [path]]) => mayOpen(path, can))
      .map(([key, [, title]]) => [['g', key], title] as const),
  ];
  return (
    <Dialog title="Keys" note="They do nothing while you type in a field." isOpen onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-6 gap-y-2">
        {shown.map(([keys, what]) => (
          <div key={keys.join(' ')} className="contents">
            <dt>
              <Keys keys={keys} />
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
