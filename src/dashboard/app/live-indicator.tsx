import { useEffect, useState } from 'react';
import { useLiveState } from './live.tsx';

const TEXT = { connecting: 'Connecting', live: 'Live', reconnecting: 'Reconnecting' } as const;
const DOT = { connecting: 'bg-faint', live: 'bg-ok', reconnecting: 'bg-warn animate-pulse' } as const;
/** A short interruption is not shown. */
const PATIENCE_MS = 1500;

/** Compact: a dot with its label beside the name. Otherwise: a bar that says that what is shown may be old. */
export function LiveIndicator({ compact = false }: { readonly compact?: boolean }) {
  const state = useLiveState();
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    if (state !== 'reconnecting') {
      setLong(false);
      return undefined;
    }
    const timer = setTimeout(() => setLong(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [state]);
  if (compact)
    return (
      <span className="flex items-center gap-1.5 text-xs text-muted" data-live={state}>
        <span aria-hidden="true" className={`size-2 rounded-full ${DOT[state]}`} />
        {TEXT[state]}
      </span>
    );
  if (!isLong) return null;
  return (
    <p role="status" className="border-b border-warn/30 bg-warn-soft px-6 py-2 text-xs text-warn">
      The connection to the control plane is lost. What you see may be out of date; it is tried again.
    </p>
  );
}
