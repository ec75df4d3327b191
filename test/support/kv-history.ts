import { type Kv, type KvChangeBatch, KvUnavailableError } from '../../src/server/store/kv.ts';

export interface WatchRecord {
  readonly batches: KvChangeBatch[];
  readonly lost: string[];
  close(): void;
}

export function recordWatch(kv: Kv, prefix: string, after: number): WatchRecord {
  const batches: KvChangeBatch[] = [];
  const lost: string[] = [];
  const watch = kv.watch(prefix, after, {
    onBatch: (batch) => batches.push(batch),
    onLost: (reason) => lost.push(reason),
  });
  return { batches, lost, close: () => watch.close() };
}

/** One line per change, in the order of delivery: two histories are the same exactly when these are. */
export function linesOf(batches: readonly KvChangeBatch[]): string[] {
  return batches.flatMap(({ revision, changes }) =>
    changes.map(({ key, entry }) => `${revision} ${key} ${entry ? entry.value : '-'}`),
  );
}

export interface Writes {
  /** Revision of every acknowledged commit, by its key. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** Keys of commits that are said to be certainly not applied. */
  readonly refused: ReadonlySet<string>;
  readonly unknown: ReadonlySet<string>;
  /** The longest time without an acknowledged commit. */
  readonly longestGapMs: () => number;
  stop(): Promise<void>;
}

/** Writers that create a key of their own with every commit until they are stopped, whatever fails meanwhile. */
export function startWriters(kv: Kv, prefix: string, count: number, pauseMs: () => number): Writes {
  const acknowledged = new Map<string, number>();
  const refused = new Set<string>();
  const unknown = new Set<string>();
  const stopping = new AbortController();
  let lastAcknowledged = performance.now();
  let longestGap = 0;

  const write = async (key: string): Promise<void> => {
    try {
      const result = await kv.commit({
        guards: [{ key, modRevision: 0 }],
        puts: [
          { key, value: key },
          { key: `${key}/second`, value: key },
        ],
      });
      if (!result.ok) throw new Error(`conflict on a key that nobody else writes: ${key}`);
      acknowledged.set(key, result.revision);
      longestGap = Math.max(longestGap, performance.now() - lastAcknowledged);
      lastAcknowledged = performance.now();
    } catch (error) {
      if (!(error instanceof KvUnavailableError)) throw error;
      (error.certainlyNotApplied ? refused : unknown).add(key);
    }
  };
  const writer = async (id: number): Promise<void> => {
    for (let serial = 0; !stopping.signal.aborted; serial += 1) {
      await write(`${prefix}w${id}/${serial}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs()));
    }
  };
  const done = Promise.all(Array.from({ length: count }, (_, id) => writer(id)));
  return {
    acknowledged,
    refused,
    unknown,
    longestGapMs: () => Math.max(longestGap, performance.now() - lastAcknowledged),
    stop: async () => {
      stopping.abort();
      await done;
    },
  };
}
