import { KvCompactedError, type KvEntry, type RangeOptions, type RangeResult, type RowPack } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import { type KeySpace, keyAfter } from './key-space.ts';
import { loadMethod, METHODS } from './messages.ts';
import type { RangeAnswer, RangeEntry } from './range-answer.ts';
import type { PackedAnswer } from './range-pack.ts';

const SORT_DESCENDING = { sortOrder: 2, sortTarget: 0 };

/** Keeps one answer to some megabytes at the record sizes Berth has; etcd builds a whole answer in memory. */
const PAGE_ENTRIES = 2_000;
/** Where the answer is bounded in bytes: the first page shows how large the records are, and the next may be of another kind. */
const BOUNDED_PAGE = { first: 64, most: 500 } as const;
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

interface Bounds {
  readonly first: string;
  readonly end: Buffer;
}

function boundsAfter(bounds: Bounds, after: string, reverse: boolean): Bounds {
  if (reverse)
    return Buffer.from(after).compare(bounds.end) < 0 ? { ...bounds, end: Buffer.from(after) } : bounds;
  const next = keyAfter(after);
  return Buffer.from(next).compare(Buffer.from(bounds.first)) > 0 ? { ...bounds, first: next } : bounds;
}

function endOf({ end }: Bounds, folder: string | undefined): Buffer {
  const near = folder === undefined ? end : Buffer.from(folder);
  return near.compare(end) < 0 ? near : end;
}

/** What of the bounds comes at or after a key; undefined: nothing. */
function boundsFrom({ end }: Bounds, first: string): Bounds | undefined {
  return Buffer.from(first).compare(end) < 0 ? { first, end } : undefined;
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

/**
 * Of one answer while everything is read: about as much as is taken in while the next one is made. Mostly as many records of each kind, so that parts
 * that are read beside one another end at about the same time.
 */
const LOADED = { entries: 2_000, bytes: 1536 * 1024 } as const;
/** How much larger a page may be than the one before it: records that follow may be larger than those that were seen. */
const LARGER_BY = 8;
/** Four pages share a link: over a slow one each takes as much longer. The first page, which finds a member that answers, has the usual time. */
const LOAD_TIMEOUTS = 4;
/** Parts of the range that are read beside one another, so that there is always a page to be taken in: a tenant has three large folders. */
const READ_TOGETHER = 4;

/** One part of a load. */
interface Reading {
  readonly bounds: Bounds;
  readonly folder: string | undefined;
  readonly asked: Promise<PackedAnswer>;
}

/** Where the folder ends of which the second half of an answer is; undefined: it is of several. */
function folderAtEnd({ beginnings, places }: PackedAnswer['rows'], keys: KeySpace): string | undefined {
  const place = places.at(-1);
  const folder = beginnings.at(-1);
  if (folder === undefined || !folder.endsWith('/') || places[places.length >> 1] !== place) return undefined;
  // `0` is what follows a slash.
  return keys.toEtcd(`${folder.slice(0, -1)}0`);
}

/**
 * Everything under a prefix as one snapshot, in no order. The next page is on its way while one is taken in, and beside a large folder what comes after
 * it is read.
 */
export async function* loadPages(
  cluster: EtcdCluster,
  keys: KeySpace,
  prefix: string,
): AsyncGenerator<RowPack> {
  const method = loadMethod(keys.prefixBytes);
  let revision: number | undefined;
  const ask = (bounds: Bounds, folder?: string, limit: number = BOUNDED_PAGE.first): Reading => {
    const asked = cluster.call(
      method,
      {
        key: bounds.first,
        rangeEnd: endOf(bounds, folder),
        limit,
        ...(revision === undefined ? {} : { revision }),
      },
      {
        repeatable: true,
        ...(revision === undefined ? {} : { timeoutMs: cluster.timeoutMs * LOAD_TIMEOUTS }),
      },
    );
    // Awaited when the pages before it were taken in, if ever.
    asked.catch(() => undefined);
    return { bounds, folder, asked };
  };
  const readings = [ask(keys.bounds(prefix))];
  for (let reading = readings.shift(); reading !== undefined; reading = readings.shift()) {
    const { rows, more, last, bytes, ...answer } = await reading.asked;
    revision ??= answer.revision;
    const { bounds, folder } = reading;
    if (more && last !== undefined) {
      const most = Math.floor((LOADED.bytes * rows.ids.length) / (bytes + 1));
      const limit = Math.max(1, Math.min(LOADED.entries, most, rows.ids.length * LARGER_BY));
      const rest = boundsAfter(bounds, last, false);
      const within = folderAtEnd(rows, keys);
      const beyond = within === undefined ? undefined : boundsFrom(bounds, within);
      if (beyond === undefined || readings.length + 1 >= READ_TOGETHER)
        readings.push(ask(rest, within, limit));
      else readings.push(ask({ ...rest, end: Buffer.from(beyond.first) }, undefined, limit), ask(beyond));
    } else {
      // The next folder may have records of another size.
      const next = folder === undefined ? undefined : boundsFrom(bounds, folder);
      if (next !== undefined) readings.push(ask(next));
    }
    yield { ...rows, revision, bytes };
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
