import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { compareKeys } from '../key-order.ts';
import { isHot, HOT_PREFIX } from '../keys.ts';
import { DamageError } from './fault.ts';
import { addTo, type HotSeal } from './hot-seal.ts';
import { cellsOf, prepareRows } from './rows.ts';
import { decodeRow, deletionSum, logMix, type Meta, rowSum } from './schema.ts';
import { keysUnder, rowBlocks } from './table-scan.ts';

/** So many rows are read before a verification in steps lets others have their turn. */
const stepRows = 256;

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

/** The hot rows alone, by their seal. False: they are not those that it speaks of, or cannot be read. */
export function isHotWhole(db: DatabaseSync, seal: HotSeal): boolean {
  let count = 0;
  let mix = 0;
  let keyMix = 0;
  try {
    for (const block of rowBlocks(db, HOT_PREFIX)) {
      for (const row of block) {
        const { key, sum } = decodeRow(row);
        count++;
        mix = (mix ^ sum) >>> 0;
        keyMix ^= crc32(key);
      }
    }
    if (count !== seal.count || mix !== seal.mix) return false;
    let last = '';
    const keys = prepareRows(db, 'SELECT key FROM current WHERE key >= ? AND key < ? ORDER BY key');
    for (const row of keys.iterate(...keysUnder(HOT_PREFIX))) {
      const key = String(cellsOf(row)[0]);
      if (compareKeys(last, key) >= 0) return false;
      last = key;
      count--;
      keyMix ^= crc32(key);
    }
    return count === 0 && keyMix === 0;
  } catch {
    // Why is found out by reading everything.
    return false;
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
    if (isHot(key)) addTo(hot, sum, 1);
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
  let revMix = 0;
  for (const row of rows(
    db,
    `SELECT rev, key, value, create_rev, sum, prev_value, prev_create_rev, prev_mod_rev, prev_sum
      FROM log NOT INDEXED ORDER BY seq`,
  )) {
    const { rev, added } = decodeLogged(row);
    count++;
    mix = (mix ^ added) >>> 0;
    revMix ^= rev;
    if (count % stepRows === 0) yield;
  }
  if (count !== meta.logCount || mix !== meta.logMix) {
    throw new DamageError(`${meta.logCount} changes were logged, ${count} are found, or others`);
  }
  let last = 0;
  for (const row of rows(db, 'SELECT rev FROM log ORDER BY rev')) {
    const rev = Number(cellsOf(row)[0]);
    if (rev < last) throw new DamageError(`revision ${rev} is out of order`);
    last = rev;
    count--;
    revMix ^= rev;
    if (count % stepRows === 0) yield;
  }
  if (count !== 0 || revMix !== 0) throw new DamageError('the index of revisions does not fit the log');
}

/** The revision of a change, and what it adds to the mix. */
function decodeLogged(row: object): { readonly rev: number; readonly added: number } {
  const [rev, key, value, createRev, sum, prevValue, prevCreateRev, prevModRev, prevSum] = cellsOf(row);
  const isSound =
    typeof rev === 'number' &&
    typeof key === 'string' &&
    sum === (value === null ? deletionSum(key, rev) : rowSum(key, String(value), Number(createRev), rev)) &&
    prevSum ===
      (prevValue === null ? null : rowSum(key, String(prevValue), Number(prevCreateRev), Number(prevModRev)));
  if (!isSound) throw new DamageError(`revision ${String(rev)} of key ${String(key)} fails its checksum`);
  return { rev, added: logMix(sum, prevSum) };
}

function rows(db: DatabaseSync, sql: string): Iterable<object> {
  return prepareRows(db, sql).iterate();
}
