import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { HOT_PREFIX } from '../keys.ts';
import { cellsOf, prepareRows } from './rows.ts';
import type { Meta } from './schema.ts';
import { keysUnder } from './table-scan.ts';

/** Number and mix of all hot rows: by it a start proves the live records without reading the history. */
export interface HotSeal {
  count: number;
  mix: number;
}

/** A table of its own: a release that does not know it leaves it alone, and its writes are in the log. */
const table = `CREATE TABLE IF NOT EXISTS hot_seal (
  id INTEGER PRIMARY KEY CHECK (id = 1), rev INTEGER NOT NULL, count INTEGER NOT NULL, mix INTEGER NOT NULL, sum INTEGER NOT NULL
) STRICT`;

/** A row came or went. */
export function addTo(seal: HotSeal, sum: number, rows: 1 | -1): void {
  seal.count += rows;
  seal.mix = (seal.mix ^ sum) >>> 0;
}

/** Inside a transaction: the seal as of this revision. */
export function writeHotSeal(db: DatabaseSync, rev: number, { count, mix }: HotSeal): void {
  db.exec(table);
  db.prepare('REPLACE INTO hot_seal VALUES (1, ?, ?, ?, ?)').run(rev, count, mix, sumOf(rev, count, mix));
}

/**
 * The seal as of the newest revision: the one that was last written, and what the log says has changed since. Undefined: none was written, or the log
 * does not reach back to it.
 */
export function readHotSeal(
  db: DatabaseSync,
  { head, floor }: Meta,
): { readonly seal: HotSeal; readonly writtenAt: number } | undefined {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'hot_seal'").get() === undefined) return undefined;
  const row = prepareRows(db, 'SELECT rev, count, mix, sum FROM hot_seal WHERE id = 1').get();
  const [rev = 0, count = 0, mix = 0, sum = 0] = row === undefined ? [] : cellsOf(row).map(Number);
  if (row === undefined || sumOf(rev, count, mix) !== sum || rev < floor || rev > head) return undefined;
  const seal = { count, mix };
  const since = prepareRows(
    db,
    'SELECT create_rev, sum, prev_sum FROM log WHERE rev > ? AND key >= ? AND key < ?',
  );
  for (const change of since.all(rev, ...keysUnder(HOT_PREFIX))) {
    const [createRevision, now, before] = cellsOf(change);
    if (before !== null) addTo(seal, Number(before), -1);
    // A deletion is logged as of a row that was never created.
    if (createRevision !== 0) addTo(seal, Number(now), 1);
  }
  return { seal, writtenAt: rev };
}

function sumOf(...fields: readonly number[]): number {
  return crc32(fields.join(' '));
}
