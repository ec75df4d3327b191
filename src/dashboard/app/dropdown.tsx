import { lazy, Suspense, useState } from 'react';
import { type DropdownProps, TRIGGER_LOOK } from './dropdown-props.ts';

const DropdownMenu = lazy(async () => ({ default: (await import('./dropdown-menu.tsx')).DropdownMenu }));

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
      className={TRIGGER_LOOK}
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
