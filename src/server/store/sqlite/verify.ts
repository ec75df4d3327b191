import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { compareKeys } from '../key-order.ts';
import { isHot, HOT_PREFIX } from '../keys.ts';
import { DamageError } from './fault.ts';
import { cellsOf, prepareRows } from './rows.ts';
import { changeSum, decodeRow, keySum, type Meta, placeOfSeq, revisionOfSeq } from './schema.ts';
import { joinedBlocks, type JoinedRows, keysUnder } from './table-scan.ts';

/** So many rows are read before a verification in steps lets others have their turn. */
const stepRows = 256;
/** Keys that are taken from the index at a time. */
const indexRows = 2048;

/** Number and mix of all hot rows. */
export interface HotSeal {
  readonly count: number;
  readonly mix: number;
}

/**
 * Reads every row once: each fits its checksum, the indices name them in order (so a lookup finds them), and together
 * they are the rows that were last committed, none more, none less. SQLite's own check knows nothing of the content of a row.
 * Answers with the seal of the hot rows.
 */
export function verifyContent(db: DatabaseSync, meta: Meta): HotSeal {
  const steps = verificationSteps(db, meta);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** The same bit by bit, on a connection that sees one state from the first step to the last. */
export function* verificationSteps(db: DatabaseSync, meta: Meta): Generator<undefined, HotSeal> {
  const hot = yield* verifyCurrent(db, meta);
  yield* verifyLog(db, meta);
  return hot;
}

/** Who wants the hot rows while they are read. */
export interface HotReader {
  onRows(rows: JoinedRows): void;
  /** They were those that the seal speaks of; that their index is whole, too, is still to be seen. */
  onAll(): void;
}

/** The hot rows alone, by their seal. False: they are not those that it speaks of, or cannot be read. */
export function isHotWhole(db: DatabaseSync, seal: HotSeal, reader?: HotReader): boolean {
  let count = 0;
  let mix = 0;
  let keyMix = 0;
  try {
    for (const rows of joinedBlocks(db, HOT_PREFIX)) {
      requireSums(rows);
      count += rows.keys.length;
      for (const sum of rows.sums) mix = (mix ^ sum) >>> 0;
      for (const key of rows.keys) keyMix ^= crc32(key);
      reader?.onRows(rows);
    }
    if (count !== seal.count || mix !== seal.mix) return false;
    reader?.onAll();
    const [, end] = keysUnder(HOT_PREFIX);
    let last = HOT_PREFIX;
    const next = prepareRows(
      db,
      `SELECT key FROM current WHERE key > ? AND key < ? ORDER BY key LIMIT ${indexRows}`,
    );
    for (let keys = next.all(last, end); keys.length > 0; keys = next.all(last, end)) {
      for (const row of keys) {
        const key = String(cellsOf(row)[0]);
        if (compareKeys(last, key) >= 0) return false;
        last = key;
        count--;
        keyMix ^= crc32(key);
      }
    }
    return count === 0 && keyMix === 0;
  } catch {
    // Why is found out by reading everything.
    return false;
  }
}

function requireSums({ keys, values, lengths, createRevisions, modRevisions, sums }: JoinedRows): void {
  let from = 0;
  for (const [at, key] of keys.entries()) {
    const to = from + (lengths[at] ?? 0);
    const sum = keySum(key, createRevisions[at] ?? 0, modRevisions[at] ?? 0);
    if (crc32(values.subarray(from, to), sum) !== sums[at])
      throw new DamageError(`key ${key} fails its checksum`);
    from = to;
  }
}

function* verifyCurrent(db: DatabaseSync, meta: Meta): Generator<undefined, HotSeal> {
  let count = 0;
  let mix = 0;
  let keyMix = 0;
  const hot = { count: 0, mix: 0 };
  for (const row of rows(db, 'SELECT key, value, create_rev, mod_rev, sum FROM current NOT INDEXED')) {
    const { key, sum } = decodeRow(row);
    count++;
    mix = (mix ^ sum) >>> 0;
    keyMix ^= crc32(key);
    if (isHot(key)) {
      hot.count++;
      hot.mix = (hot.mix ^ sum) >>> 0;
    }
    if (count % stepRows === 0) yield;
  }
  if (count !== meta.currentCount || mix !== meta.currentMix) {
    throw new DamageError(`${meta.currentCount} keys were written, ${count} are found, or others`);
  }
  let last = '';
  for (const row of rows(db, 'SELECT key FROM current ORDER BY key')) {
    const key = String(cellsOf(row)[0]);
    if (compareKeys(last, key) >= 0) throw new DamageError(`key ${key} is out of order`);
    last = key;
    count--;
    keyMix ^= crc32(key);
    if (count % stepRows === 0) yield;
  }
  if (count !== 0 || keyMix !== 0) throw new DamageError('the index of keys does not fit the keys');
  return hot;
}

function* verifyLog(db: DatabaseSync, meta: Meta): Generator<undefined, void> {
  let count = 0;
  let mix = 0;
  let [last, lastPlace] = [0, 0];
  for (const row of rows(
    db,
    `SELECT ${revisionOfSeq}, ${placeOfSeq}, key, create_rev, sum, prev_value, prev_create_rev, prev_mod_rev, prev_sum
      FROM history ORDER BY seq`,
  )) {
    const [revision = 0, place = 0, ...change] = cellsOf(row);
    if (Number(revision) < last || (revision === last && Number(place) <= lastPlace))
      throw new DamageError(`revision ${String(revision)} is out of order`);
    [last, lastPlace] = [Number(revision), Number(place)];
    count++;
    mix = (mix ^ decodeChange(last, change)) >>> 0;
    if (count % stepRows === 0) yield;
  }
  if (count !== meta.logCount || mix !== meta.logMix) {
    throw new DamageError(`${meta.logCount} changes were logged, ${count} are found, or others`);
  }
}

/** Its checksum, when it is right. */
function decodeChange(revision: number, cells: readonly unknown[]): number {
  const [key, createRevision, sum, ...prev] = cells;
  const [prevValue, prevCreateRevision, prevModRevision, prevSum] = prev;
  const wasThere = prevValue !== null;
  if (typeof key === 'string' && typeof sum === 'number' && wasThere === (prevSum !== null)) {
    const before = wasThere
      ? decodeRow([key, prevValue, prevCreateRevision, prevModRevision, prevSum]).sum
      : null;
    if (changeSum(keySum(key, Number(createRevision), revision), before) === sum) return sum;
  }
  throw new DamageError(`revision ${revision} of key ${String(key)} fails its checksum`);
}

function rows(db: DatabaseSync, sql: string): Iterable<object> {
  return prepareRows(db, sql).iterate();
}
