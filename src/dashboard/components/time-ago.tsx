import { useSyncExternalStore } from 'react';
import { ago, dateTime } from '../lib/format.ts';

const TICK_MS = 10_000;

/** One timer for all of them: a table has as many as rows, and new ones while it is scrolled. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(onTick: () => void): () => void {
  listeners.add(onTick);
  timer ??= setInterval(() => {
    for (const listener of listeners) listener();
  }, TICK_MS);
  return () => {
    listeners.delete(onTick);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The same value within a tick, so that all times on a page change together. */
function tick(): number {
  return Math.floor(Date.now() / TICK_MS) * TICK_MS;
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, tick);
}

/** `3 min ago`, with the exact time when pointed at. */
export function TimeAgo({ time }: { readonly time: string | null | undefined }) {
  useNow();
  if (time === null || time === undefined) return <span>never</span>;
  return (
    <time dateTime={time} title={dateTime(time)} className="whitespace-nowrap">
      {ago(time, Date.now())}
    </time>
  );
}
