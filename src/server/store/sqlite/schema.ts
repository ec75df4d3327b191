import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { KvEntry } from '../kv.ts';
import { DamageError, LayoutError } from './fault.ts';
import { cellsOf } from './rows.ts';

/** Raised when the layout of the file changes; a newer file is refused rather than misread. */
const formatVersion = 1;

// The log carries what each change replaced, so that the state at an old revision is: rows not changed since, plus
// what the first later change of each other row replaced. Every row carries a checksum over its content, which the
// log takes over from the rows it speaks of; meta seals the number and mix of all of them. Values lie in tables with
// row ids: in a table without, rows of this size spill into pages of their own and a batch takes three times as long.
const tables = `
  CREATE TABLE current (
    key TEXT NOT NULL UNIQUE, value TEXT NOT NULL,
    create_rev INTEGER NOT NULL, mod_rev INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE log (
    seq INTEGER PRIMARY KEY, rev INTEGER NOT NULL, key TEXT NOT NULL,
    value TEXT, create_rev INTEGER NOT NULL, sum INTEGER NOT NULL,
    prev_value TEXT, prev_create_rev INTEGER, prev_mod_rev INTEGER, prev_sum INTEGER
  ) STRICT;
  CREATE INDEX log_rev ON log (rev);
  CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl_ms INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
  CREATE TABLE leased (key TEXT PRIMARY KEY, lease INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL,
    head INTEGER NOT NULL, floor INTEGER NOT NULL, last_lease INTEGER NOT NULL,
    current_count INTEGER NOT NULL, current_mix INTEGER NOT NULL,
    log_count INTEGER NOT NULL, log_mix INTEGER NOT NULL, log_bytes INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
`;

/** The one row that says where the store stands. */
export interface Meta {
  head: number;
  /** History at or below this revision is forgotten; its rows may still wait to be swept. */
  floor: number;
  lastLease: number;
  currentCount: number;
  currentMix: number;
  logCount: number;
  logMix: number;
  logBytes: number;
}

export const emptyMeta: Meta = {
  head: 0,
  floor: 0,
  lastLease: 0,
  currentCount: 0,
  currentMix: 0,
  logCount: 0,
  logMix: 0,
  logBytes: 0,
};

export const selectMeta = `SELECT format, head, floor, last_lease, current_count, current_mix, log_count, log_mix, log_bytes, sum
  FROM meta WHERE id = 1`;
export const replaceMeta = 'REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

export function metaRow(meta: Meta): number[] {
  const row = [
    formatVersion,
    meta.head,
    meta.floor,
    meta.lastLease,
    meta.currentCount,
    meta.currentMix,
    meta.logCount,
    meta.logMix,
    meta.logBytes,
  ];
  return [...row, crc32(row.join())];
}

export function decodeMeta(row: object | undefined): Meta {
  if (row === undefined) throw new DamageError('its head row is missing');
  const cells = cellsOf(row);
  const field = (i: number): number => Number(cells[i]);
  if (crc32(cells.slice(0, -1).join()) !== cells.at(-1))
    throw new DamageError('its head row fails its checksum');
  const format = field(0);
  if (format !== formatVersion) {
    throw new LayoutError(
      `has layout ${format}, and this release reads layout ${formatVersion}. Nothing was changed. Start the release that wrote it, or restore a backup of before the upgrade (berth server restore).`,
    );
  }
  return {
    head: field(1),
    floor: field(2),
    lastLease: field(3),
    currentCount: field(4),
    currentMix: field(5),
    logCount: field(6),
    logMix: field(7),
    logBytes: field(8),
  };
}

/** Before it is set, a connection keeps little: reading a whole file once is no reason to keep its pages. */
export function keepPages(db: DatabaseSync): void {
  db.exec('PRAGMA cache_size = -32768');
}

/** Settings of the connection that writes; makes the tables of a new file. */
export function prepareWriter(db: DatabaseSync): void {
  // Only a file without tables takes it; it lets the file shrink later without being rewritten as a whole.
  db.exec('PRAGMA auto_vacuum = INCREMENTAL');
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA synchronous = FULL');
  db.exec('PRAGMA wal_autocheckpoint = 0');
  db.exec('PRAGMA journal_size_limit = 8388608');
  // What is deleted is overwritten within its page; pages that become free leave the file when secrets are erased.
  db.exec('PRAGMA secure_delete = FAST');
  prepareReader(db);
  db.exec('BEGIN IMMEDIATE');
  try {
    if (db.prepare(`SELECT 1 FROM sqlite_schema LIMIT 1`).get() === undefined) {
      makeTables(db, emptyMeta);
    }
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}

export function makeTables(db: DatabaseSync, meta: Meta): void {
  db.exec(tables);
  db.prepare(replaceMeta).run(...metaRow(meta));
}

export function prepareReader(db: DatabaseSync): void {
  db.exec('PRAGMA cell_size_check = ON');
}

/** Checksum of a row of `current`; a deletion in the log counts as an empty value that was never created. */
export function rowSum(key: string, value: string, createRevision: number, modRevision: number): number {
  return crc32(value, crc32(`${createRevision} ${modRevision} ${key}`));
}

/** A row of `current`, which is what its checksum says. */
export interface Row extends KvEntry {
  readonly sum: number;
}

export function decodeRow(row: object): Row {
  const [key, value, createRevision, modRevision, sum] = cellsOf(row);
  if (
    typeof key !== 'string' ||
    typeof value !== 'string' ||
    typeof createRevision !== 'number' ||
    typeof modRevision !== 'number' ||
    typeof sum !== 'number' ||
    rowSum(key, value, createRevision, modRevision) !== sum
  )
    throw new DamageError(`key ${String(key)} fails its checksum`);
  return { key, value, createRevision, modRevision, sum };
}

export function deletionSum(key: string, revision: number): number {
  return rowSum(key, '', 0, revision);
}

/** What a log row adds to the mix: both sums, so that neither half can go missing. */
export function logMix(sum: number, prevSum: number | null): number {
  return (Math.imul(sum, 31) ^ (prevSum ?? 0)) >>> 0;
}

export function leaseSum(...fields: readonly (string | number)[]): number {
  return crc32(fields.join(' '));
}
