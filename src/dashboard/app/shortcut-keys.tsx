import { createContext, lazy, type ReactNode, Suspense, use, useCallback, useEffect, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { shortcutOf } from '../features/palette/shortcuts.ts';
import { mayOpen } from './pages.ts';
import { useSession } from './session.tsx';

/** Fetched when they are first asked for. */
const Palette = lazy(async () => ({ default: (await import('../features/palette/palette.tsx')).Palette }));
const ShortcutHelp = lazy(async () => ({
  default: (await import('../features/palette/shortcut-help.tsx')).ShortcutHelp,
}));

/** How long `g` waits for where to. */
const PATIENCE_MS = 1500;
const FIELDS =
  'input, textarea, select, [contenteditable=true], [role=dialog], [role=menu], [role=application]';

const OpenContext = createContext<() => void>(() => undefined);

/** Opens the palette. */
export function useOpenPalette(): () => void {
  return use(OpenContext);
}

function hasWindow(): boolean {
  return document.querySelector('[role=dialog], [role=alertdialog]') !== null;
}

function isTyping({ target }: KeyboardEvent): boolean {
  return hasWindow() || (target instanceof Element && target.closest(FIELDS) !== null);
}

/** The search of the page that is shown; false: it has none. */
function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>('#content input[type=search]');
  field?.focus();
  field?.select();
  return field !== null;
}

/** Keys that do something on every page, and what they open. */
export function ShortcutKeys({ children }: { readonly children: ReactNode }) {
  const navigate = useNavigate();
  const { can } = useSession();
  const [open, setOpen] = useState<'palette' | 'help'>();
  useEffect(() => {
    let afterG: ReturnType<typeof setTimeout> | undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const shortcut = shortcutOf(event, {
        isTyping: isTyping(event),
        isAfterG: afterG !== undefined,
        isCovered: open === undefined && hasWindow(),
      });
      clearTimeout(afterG);
      afterG = undefined;
      if (shortcut === undefined || (shortcut.does === 'go' && !mayOpen(shortcut.to, can))) return;
      event.preventDefault();
      if (shortcut.does === 'go') void navigate({ to: shortcut.to });
      else if (shortcut.does === 'wait')
        afterG = setTimeout(() => {
          afterG = undefined;
        }, PATIENCE_MS);
      else if (shortcut.does === 'help') setOpen('help');
      else if (shortcut.does === 'palette')
        setOpen((before) => (before === 'palette' ? undefined : 'palette'));
      else if (!focusSearch()) setOpen('palette');
    };
    document.addEventListener('keydown', onKey);
    return () => {
      clearTimeout(afterG);
      document.removeEventListener('keydown', onKey);
    };
  }, [navigate, can, open]);
  const close = () => setOpen(undefined);
  const openPalette = useCallback(() => setOpen('palette'), []);
  return (
    <OpenContext value={openPalette}>
      {children}
      <Suspense>
        {open === 'palette' ? <Palette onClose={close} /> : null}
        {open === 'help' ? <ShortcutHelp onClose={close} /> : null}
      </Suspense>
    </OpenContext>
  );
}
