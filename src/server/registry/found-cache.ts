export interface FoundCacheOptions {
  readonly clock: () => number;
  readonly ttlMs: number;
  readonly maxEntries: number;
}

export interface FoundCache<V> {
  get(key: string): V | undefined;
  put(key: string, value: V, ttlMs?: number): void;
  delete(key: string): void;
}

/** Bounded; the entry that was used longest ago goes first, where uses from before it was half full do not count. Use does not lengthen an entry's life. */
export function createFoundCache<V>(options: FoundCacheOptions): FoundCache<V> {
  const entries = new Map<string, { readonly value: V; readonly until: number }>();
  return {
    get(key) {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      const isOver = entry.until <= options.clock();
      // Which was used last matters from when room becomes scarce: until then a map is not rebuilt for every use.
      const isScarce = 2 * entries.size > options.maxEntries;
      if (isOver || isScarce) entries.delete(key);
      if (isOver) return undefined;
      if (isScarce) entries.set(key, entry);
      return entry.value;
    },
    put(key, value, ttlMs = options.ttlMs) {
      entries.delete(key);
      entries.set(key, { value, until: options.clock() + ttlMs });
      const oldest = entries.size > options.maxEntries ? entries.keys().next().value : undefined;
      if (oldest !== undefined) entries.delete(oldest);
    },
    delete: (key) => void entries.delete(key),
  };
}
