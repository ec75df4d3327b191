import { lazy, type ReactNode, Suspense, useState } from 'react';

export interface Choice {
  readonly value: string;
  readonly title: string;
  readonly note?: string;
}

export interface DropdownProps {
  readonly label: string;
  readonly trigger: ReactNode;
  readonly choices: readonly Choice[];
  readonly chosen: string;
  readonly onChoose: (value: string) => void;
  readonly links?: readonly { readonly title: string; readonly href: string }[];
  readonly actions?: readonly { readonly title: string; readonly run: () => void }[];
  readonly side: 'top' | 'bottom';
}

const DropdownMenu = lazy(async () => ({ default: (await import('./dropdown-menu.tsx')).DropdownMenu }));

export const TRIGGER_LOOK =
  'flex w-full items-center justify-between gap-2.5 rounded-md border px-3 py-1.5 text-left';

/** A button with a menu. The menu's code is fetched when it is first asked for: most visits never open one. */
export function Dropdown(props: DropdownProps) {
  const [isWanted, setWanted] = useState(false);
  const closed = (
    <button
      type="button"
      aria-label={props.label}
      aria-haspopup="menu"
      aria-expanded={false}
      onClick={() => setWanted(true)}
      className={`${TRIGGER_LOOK} bg-sunken hover:border-line-strong`}
    >
      {props.trigger}
    </button>
  );
  if (!isWanted) return closed;
  return (
    <Suspense fallback={closed}>
      <DropdownMenu {...props} />
    </Suspense>
  );
}
