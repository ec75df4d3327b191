import { useEffect, useState } from 'react';

/** Together with the wait for an answer less than five seconds. */
const EVERY_MS = 2500;
const WAIT_MS = 2000;

async function answers(): Promise<boolean> {
  try {
    const answer = await fetch('/readyz', { cache: 'no-store', signal: AbortSignal.timeout(WAIT_MS) });
    // Unread it would stay open until the time is over, and one more of a browser's few connections be taken.
    await answer.text();
    return answer.ok;
  } catch {
    return false;
  }
}

/**
 * Whether the control plane answers. A stream over a network that swallows packets looks alive for as long as nobody writes, so it is asked,
 * while somebody looks. `returns` counts how often it came back: what was open before is to be opened anew.
 */
export function useReachable(isSeen: boolean): { readonly isReachable: boolean; readonly returns: number } {
  const [state, setState] = useState({ isReachable: true, returns: 0 });
  useEffect(() => {
    if (!isSeen) return undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      const isReachable = await answers();
      if (isOver) return;
      setState((before) =>
        before.isReachable === isReachable
          ? before
          : { isReachable, returns: before.returns + (isReachable ? 1 : 0) },
      );
      timer = setTimeout(() => void look(), EVERY_MS);
    };
    timer = setTimeout(() => void look(), EVERY_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [isSeen]);
  return state;
}
