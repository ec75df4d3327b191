import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { cellsOf, prepareRows } from './rows.ts';
import type { Meta } from './schema.ts';

/** Number and mix of all hot rows: by it a start proves the live records without reading the history. */
export interface HotSeal {
  count: number;
  mix: number;
}

/** A table of its own: a release that does not know it leaves it alone, and the revision is another when it has written. */
const table = `CREATE TABLE IF NOT EXISTS hot_seal (
  id INTEGER PRIMARY KEY CHECK (id = 1), rev INTEGER NOT NULL, count INTEGER NOT NULL, mix INTEGER NOT NULL, sum INTEGER NOT NULL
) STRICT`;

/** A row came or went. */
export function addTo(seal: HotSeal, sum: number, rows: 1 | -1): void {
  seal.count += rows;
  seal.mix = (seal.mix ^ sum) >>> 0;
}

export interface HotSealWriter {
  /** Inside the transaction that makes this revision the newest. */
  write(rev: number, seal: HotSeal): void;
  /** After that transaction. */
  settle(isCommitted: boolean): void;
}

export function hotSealWriter(db: DatabaseSync): HotSealWriter {
  let replace: StatementSync | undefined;
  /** Made, or found, by a transaction that was committed: one that makes it may be rolled back. */
  let isThere = false;
  let written = false;
  return {
    write(rev, { count, mix }) {
      if (!isThere) db.exec(table);
      written = true;
      replace ??= db.prepare('REPLACE INTO hot_seal VALUES (1, ?, ?, ?, ?)');
      replace.run(rev, count, mix, sumOf(rev, count, mix));
    },
    settle(isCommitted) {
      isThere ||= isCommitted && written;
      written = false;
    },
  };
}

/** Of the newest revision; undefined: there is none, e.g. because a release that does not know it wrote last. */
export function readHotSeal(db: DatabaseSync, { head }: Meta): HotSeal | undefined {
  if (!hasTable(db)) return undefined;
  const row = prepareRows(db, 'SELECT rev, count, mix, sum FROM hot_seal WHERE id = 1').get();
  const [rev = 0, count = 0, mix = 0, sum = 0] = row === undefined ? [] : cellsOf(row).map(Number);
  return row === undefined || sumOf(rev, count, mix) !== sum || rev !== head ? undefined : { count, mix };
}

/** What is known to be damaged is read as a whole by the next start, before it serves anything. */
export function voidHotSeal(db: DatabaseSync): void {
  if (hasTable(db)) db.exec('DELETE FROM hot_seal');
}

function hasTable(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'hot_seal'").get() !== undefined;
}

function sumOf(...fields: readonly number[]): number {
  return crc32(fields.join(' '));
}
