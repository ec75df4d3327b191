import { KvCompactedError, type KvEntry, type RangeOptions, type RangeResult } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import { type KeySpace, keyAfter } from './key-space.ts';
import { METHODS } from './messages.ts';
import type { RangeAnswer, RangeEntry } from './range-answer.ts';

const SORT_DESCENDING = { sortOrder: 2, sortTarget: 0 };

/** Keeps one answer to some megabytes at the record sizes Berth has; etcd builds a whole answer in memory. */
const PAGE_ENTRIES = 2_000;
/** Where the answer is bounded in bytes: the first page shows how large the records are, and the next may be of another kind. */
export const BOUNDED_PAGE = { first: 64, most: 500 } as const;
const RESTARTS_AFTER_COMPACTION = 3;

function entryOf({ key, value, createRevision, modRevision }: RangeEntry, keys: KeySpace): KvEntry {
  return { key: keys.fromEtcd(key), value, createRevision, modRevision };
}

export async function readEntry(
  cluster: EtcdCluster,
  keys: KeySpace,
  key: string,
): Promise<KvEntry | undefined> {
  const answer = await cluster.call(METHODS.range, { key: keys.toEtcd(key) }, { repeatable: true });
  const kv = answer.kvs[0];
  return kv && entryOf(kv, keys);
}

export interface Bounds {
  readonly first: string;
  readonly end: Buffer;
}

export function boundsAfter(bounds: Bounds, after: string, reverse: boolean): Bounds {
  if (reverse)
    return Buffer.from(after).compare(bounds.end) < 0 ? { ...bounds, end: Buffer.from(after) } : bounds;
  const next = keyAfter(after);
  return Buffer.from(next).compare(Buffer.from(bounds.first)) > 0 ? { ...bounds, first: next } : bounds;
}

function endOf({ end }: Bounds, folder: string | undefined): Buffer {
  const near = folder === undefined ? end : Buffer.from(folder);
  return near.compare(end) < 0 ? near : end;
}

/** Where the folder ends that two keys have in common; undefined: they have none. */
function folderEnd(one: string, other: string): string | undefined {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const slash = one.lastIndexOf('/', same - 1);
  // `0` is what follows a slash.
  return slash === -1 ? undefined : `${one.slice(0, slash)}0`;
}

async function readPages(
  cluster: EtcdCluster,
  keys: KeySpace,
  start: Bounds,
  options: RangeOptions,
): Promise<RangeResult> {
  const { limit = Number.POSITIVE_INFINITY, reverse = false, bytes: most } = options;
  const entries: KvEntry[] = [];
  let bytes = 0;
  let page: number = most === undefined ? PAGE_ENTRIES : BOUNDED_PAGE.first;
  let bounds = start;
  // etcd counts every key of a range for each page of it: within a large folder the range is that folder.
  let folder: string | undefined;
  let { revision } = options;
  for (;;) {
    if (bounds.end.compare(Buffer.from(bounds.first)) <= 0) {
      return { entries, revision: revision ?? (await readHead(cluster, keys)) };
    }
    const answer: RangeAnswer = await cluster.call(
      METHODS.range,
      {
        key: bounds.first,
        rangeEnd: endOf(bounds, folder),
        limit: Math.min(limit - entries.length, page),
        ...(revision === undefined ? {} : { revision }),
        ...(reverse ? SORT_DESCENDING : {}),
      },
      { repeatable: true },
    );
    // The first page fixes the revision and the others are read at it: together they are one snapshot.
    revision ??= answer.revision;
    for (const kv of answer.kvs) {
      entries.push(entryOf(kv, keys));
      bytes += kv.value.length;
    }
    const [first, last] = [answer.kvs[0], answer.kvs.at(-1)];
    const isOver = !answer.more || !first || !last;
    if ((isOver && folder === undefined) || entries.length >= limit) return { entries, revision };
    if (most !== undefined) {
      if (bytes >= most) return { entries, revision, more: true };
      page = Math.max(
        1,
        Math.min(BOUNDED_PAGE.most, Math.floor(((most - bytes) * entries.length) / (bytes + 1))),
      );
    }
    if (isOver) {
      bounds = { ...bounds, first: folder ?? bounds.first };
      folder = undefined;
    } else {
      bounds = boundsAfter(bounds, last.key, reverse);
      folder = reverse ? undefined : folderEnd(first.key, last.key);
    }
  }
}

export async function readRange(
  cluster: EtcdCluster,
  keys: KeySpace,
  prefix: string,
  options: RangeOptions,
): Promise<RangeResult> {
  const whole = keys.bounds(prefix);
  const bounds =
    options.after === undefined || options.after === ''
      ? whole
      : boundsAfter(whole, keys.toEtcd(options.after), options.reverse ?? false);
  if (options.limit !== undefined && options.limit <= 0) {
    return { entries: [], revision: options.revision ?? (await readHead(cluster, keys)) };
  }
  for (let restart = 0; ; restart += 1) {
    try {
      return await readPages(cluster, keys, bounds, options);
    } catch (error) {
      // The revision was the reader's own choice: a compaction between two pages only means to start again.
      const again = error instanceof KvCompactedError && options.revision === undefined;
      if (!again || restart === RESTARTS_AFTER_COMPACTION) throw error;
    }
  }
}

/** Linearizable: etcd confirms with a quorum that no newer commit was acknowledged before it answers. */
export async function readHead(cluster: EtcdCluster, keys: KeySpace): Promise<number> {
  const answer = await cluster.call(
    METHODS.range,
    { key: keys.markerKey, keysOnly: true },
    { repeatable: true },
  );
  return answer.revision;
}
