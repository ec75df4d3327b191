import type { KvChangeBatch, Watch, WatchHandlers } from './kv.ts';

/** A slice of history after a revision; `upTo` is the last revision scanned, also when nothing in it matched. */
export type HistorySlice =
  | {
      readonly compacted: false;
      readonly batches: readonly KvChangeBatch[];
      readonly upTo: number;
      readonly more: boolean;
    }
  | { readonly compacted: true; readonly floor: number };

/** Reads the stored history; `maxRevisions` bounds how long one call may hold the event loop. */
export type ReadHistory = (prefix: string, afterRevision: number, maxRevisions: number) => HistorySlice;

export interface Watchers {
  watch(prefix: string, afterRevision: number, handlers: WatchHandlers): Watch;
  /** Hands a batch to every watcher that has caught up. Must be called in revision order. */
  publish(batch: KvChangeBatch): void;
  /** True when a watcher would take the batch; otherwise it need not be built. */
  readonly wanted: boolean;
  /** Tells every watcher to start over. */
  loseAll(reason: string): void;
  closeAll(): void;
}

interface Watcher {
  readonly prefix: string;
  readonly handlers: WatchHandlers;
  cursor: number;
  state: 'behind' | 'live' | 'closed';
}

const revisionsPerSlice = 256;

/**
 * Watchers of one store. A watcher first reads history until nothing is left, then takes live batches. There is no
 * gap: a revision committed before its last history read was in that read, a later one is published later, and the
 * cursor drops what came both ways.
 */
export function createWatchers(readHistory: ReadHistory): Watchers {
  const watchers = new Set<Watcher>();
  const queue: KvChangeBatch[] = [];
  let publishing = false;

  function lose(watcher: Watcher, reason: string): void {
    watchers.delete(watcher);
    watcher.state = 'closed';
    watcher.handlers.onLost(reason);
  }

  function deliver(watcher: Watcher, batch: KvChangeBatch): void {
    if (watcher.state === 'closed' || batch.revision <= watcher.cursor) return;
    watcher.cursor = batch.revision;
    const changes = batch.changes.filter((change) => change.key.startsWith(watcher.prefix));
    if (changes.length === 0) return;
    try {
      watcher.handlers.onBatch(changes.length === batch.changes.length ? batch : { ...batch, changes });
    } catch (fault) {
      // One watcher's fault must not keep the batch from the others; this one starts over from a list.
      lose(watcher, `the watcher failed on revision ${batch.revision}: ${String(fault)}`);
    }
  }

  function catchUp(watcher: Watcher): void {
    if (watcher.state !== 'behind') return;
    let slice: HistorySlice;
    try {
      slice = readHistory(watcher.prefix, watcher.cursor, revisionsPerSlice);
    } catch (fault) {
      lose(watcher, `the history cannot be read: ${String(fault)}`);
      return;
    }
    if (slice.compacted) {
      lose(watcher, `the history after revision ${watcher.cursor} is compacted up to ${slice.floor}`);
      return;
    }
    for (const batch of slice.batches) deliver(watcher, batch);
    if (watcher.state !== 'behind') return;
    watcher.cursor = Math.max(watcher.cursor, slice.upTo);
    if (slice.more) setImmediate(catchUp, watcher);
    else watcher.state = 'live';
  }

  return {
    watch(prefix, afterRevision, handlers) {
      const watcher: Watcher = { prefix, handlers, cursor: afterRevision, state: 'behind' };
      watchers.add(watcher);
      // Not at once: the caller must hold the handle before the first batch. A microtask is still ahead of the
      // acknowledgement of any later commit.
      queueMicrotask(() => catchUp(watcher));
      return {
        close() {
          watcher.state = 'closed';
          watchers.delete(watcher);
        },
      };
    },

    publish(batch) {
      queue.push(batch);
      // A handler that commits to an in-memory store publishes from within publish; order is kept by the queue.
      if (publishing) return;
      publishing = true;
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        for (const watcher of watchers) if (watcher.state === 'live') deliver(watcher, next);
      }
      publishing = false;
    },

    get wanted() {
      return watchers.size > 0;
    },

    loseAll(reason) {
      for (const watcher of watchers) lose(watcher, reason);
    },

    closeAll() {
      for (const watcher of watchers) watcher.state = 'closed';
      watchers.clear();
    },
  };
}
