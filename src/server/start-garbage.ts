import { getHeapStatistics } from 'node:v8';

/** Past this a collection takes longer than a few milliseconds: a store of that size is left alone. */
const MOST_BYTES = 64 * 2 ** 20;
const AFTER_MS = 1000;

/** From here on what a load leaves behind is worth a collection, which takes some hundred milliseconds then. */
const LOADED_BYTES = 64 * 2 ** 20;

/**
 * Gives back the texts of a store that was read, before anything is served: a heap that grew so far is not collected for a long time
 * otherwise, and what is made meanwhile comes on top.
 */
export function collectLoaded(collect = globalThis.gc): void {
  if (getHeapStatistics().used_heap_size > LOADED_BYTES) collect?.({ type: 'major', execution: 'sync' });
}

/** Gives back what a start leaves behind. `bin/berth` exposes the collector; without it nothing is done. */
export function collectAfterStart(collect = globalThis.gc): void {
  if (collect === undefined) return;
  setTimeout(() => {
    if (getHeapStatistics().used_heap_size > MOST_BYTES) return;
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  }, AFTER_MS).unref();
}
