import { useSyncExternalStore } from 'react';

/** Below the width that Tailwind calls `lg`. */
const NARROW = matchMedia('(width < 64rem)');

function subscribe(onChange: () => void): () => void {
  NARROW.addEventListener('change', onChange);
  return () => NARROW.removeEventListener('change', onChange);
}

/** Whether the screen has room for a few columns only. */
export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => NARROW.matches);
}
