import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import type { KvEntry } from '../kv.ts';
import { DamageError, LayoutError } from './fault.ts';
import { cellsOf, prepareRows } from './rows.ts';

/** Raised when the layout of the file changes; a newer file is refused rather than misread. */
export const formatVersion = 2;

// The history carries what each change replaced, so that the state at an old revision is: rows not changed since, plus
// what the first later change of each other row replaced. What a change wrote is not in it: that is in `current`, or
// in the next change of the key. Every row carries a checksum over its content; head seals the number and mix of all of
// them. Values lie in tables with row ids: in a table without, rows of this size spill into pages of their own and a
// batch takes three times as long.
//
// `meta` and `log` are those of layout 1. One says which layout it is, the other is empty: releases that know layout 1
// alone look for both before they read the number that has them refuse (docs/decisions/0121).
const layout1Tables = `
  CREATE TABLE log (
    seq INTEGER PRIMARY KEY, rev INTEGER NOT NULL, key TEXT NOT NULL,
    value TEXT, create_rev INTEGER NOT NULL, sum INTEGER NOT NULL,
    prev_value TEXT, prev_create_rev INTEGER, prev_mod_rev INTEGER, prev_sum INTEGER
  ) STRICT;
`;
const layout2Tables = `
  CREATE TABLE history (
    seq INTEGER PRIMARY KEY, key TEXT NOT NULL, create_rev INTEGER NOT NULL, sum INTEGER NOT NULL,
    prev_create_rev INTEGER, prev_mod_rev INTEGER, prev_sum INTEGER, prev_value TEXT
  ) STRICT;
  CREATE TABLE head (
    id INTEGER PRIMARY KEY CHECK (id = 1), base INTEGER NOT NULL, head INTEGER NOT NULL, floor INTEGER NOT NULL,
    last_lease INTEGER NOT NULL, current_count INTEGER NOT NULL, current_mix INTEGER NOT NULL, hot_count INTEGER NOT NULL, hot_mix INTEGER NOT NULL,
    log_count INTEGER NOT NULL, log_mix INTEGER NOT NULL, log_bytes INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
`;
const tables = `
  CREATE TABLE current (
    key TEXT NOT NULL UNIQUE, value TEXT NOT NULL,
    create_rev INTEGER NOT NULL, mod_rev INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
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
  /** Below every revision that the history can have; the revision at which the file was made or got this layout. */
  base: number;
  head: number;
  /** History at or below this revision is forgotten; its rows may still wait to be swept. */
  floor: number;
  lastLease: number;
  currentCount: number;
  currentMix: number;
  /** Of the hot rows alone: by it a start proves the live records without reading anything else. `NO_SEAL`: not known. */
  hotCount: number;
  hotMix: number;
  logCount: number;
  logMix: number;
  logBytes: number;
}

export const NO_SEAL = -1;

export const emptyMeta: Meta = {
  base: 0,
  head: 0,
  floor: 0,
  lastLease: 0,
  currentCount: 0,
  currentMix: 0,
  hotCount: 0,
  hotMix: 0,
  logCount: 0,
  logMix: 0,
  logBytes: 0,
};

export const selectMeta = `SELECT base, head, floor, last_lease, current_count, current_mix, hot_count, hot_mix, log_count, log_mix, log_bytes, sum
  FROM head WHERE id = 1`;
export const replaceMeta = 'REPLACE INTO head VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';

export function metaRow(meta: Meta): number[] {
  const row = [
    meta.base,
    meta.head,
    meta.floor,
    meta.lastLease,
    meta.currentCount,
    meta.currentMix,
    meta.hotCount,
    meta.hotMix,
    meta.logCount,
    meta.logMix,
    meta.logBytes,
  ];
  return [...row, crc32(row.join())];
}

export function decodeMeta(row: object | undefined): Meta {
  const [base, head, floor, lastLease, currentCount, currentMix, ...rest] = sealedCells(row);
  const [hotCount, hotMix, logCount, logMix, logBytes] = rest;
  return {
    base: Number(base),
    head: Number(head),
    floor: Number(floor),
    lastLease: Number(lastLease),
    currentCount: Number(currentCount),
    currentMix: Number(currentMix),
    hotCount: Number(hotCount),
    hotMix: Number(hotMix),
    logCount: Number(logCount),
    logMix: Number(logMix),
    logBytes: Number(logBytes),
  };
}

/** Of a row that ends with the checksum of what comes before it. */
export function sealedCells(row: object | undefined): readonly unknown[] {
  if (row === undefined) throw new DamageError('its head row is missing');
  const cells = cellsOf(row);
  if (crc32(cells.slice(0, -1).join()) !== cells.at(-1))
    throw new DamageError('its head row fails its checksum');
  return cells;
}

/** Where the store stands, in a file of any layout that this release reads. */
export function readMeta(db: DatabaseSync): Meta {
  const marker = readMarker(db);
  return marker.format === 1 ? marker.meta : decodeMeta(prepareRows(db, selectMeta).get());
}

/** What `meta` says: the layout, and in layout 1 where the store stands. */
export function readMarker(db: DatabaseSync): { readonly format: number; readonly meta: Meta } {
  const row = prepareRows(
    db,
    `SELECT format, head, floor, last_lease, current_count, current_mix, log_count, log_mix, log_bytes, sum
    FROM meta WHERE id = 1`,
  ).get();
  const [format = 0, head = 0, floor = 0, lastLease = 0, currentCount = 0, currentMix = 0, ...log] =
    sealedCells(row).map(Number);
  const [logCount = 0, logMix = 0, logBytes = 0] = log;
  if (format < 1 || format > formatVersion) {
    throw new LayoutError(
      `has layout ${format}, and this release reads layout ${formatVersion}. Nothing was changed. Start the release that wrote it, or restore a backup of before the upgrade (berth server restore).`,
    );
  }
  const hot = { hotCount: NO_SEAL, hotMix: 0 };
  return {
    format,
    meta: {
      base: head,
      head,
      floor,
      lastLease,
      currentCount,
      currentMix,
      ...hot,
      logCount,
      logMix,
      logBytes,
    },
  };
}

/** What has been found damaged is read as a whole by the next start, before it serves anything. */
export function voidHotSeal(db: DatabaseSync): void {
  const meta = decodeMeta(prepareRows(db, selectMeta).get());
  db.prepare(replaceMeta).run(...metaRow({ ...meta, hotCount: NO_SEAL, hotMix: 0 }));
}

/** Before it is set, a connection keeps little: reading a whole file once is no reason to keep its pages. */
export function keepPages(db: DatabaseSync): void {
  db.exec('PRAGMA cache_size = -32768');
}

export function makeTables(db: DatabaseSync, meta: Meta): void {
  db.exec(tables);
  makeLayout2(db, meta);
}

/** What layout 2 has beside the rows that both have. */
export function makeLayout2(db: DatabaseSync, meta: Meta): void {
  db.exec(layout1Tables + layout2Tables);
  const marker = [formatVersion, 0, 0, 0, 0, 0, 0, 0, 0];
  db.prepare('REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
    ...marker,
    crc32(marker.join()),
  );
  db.prepare(replaceMeta).run(...metaRow(meta));
}

export function prepareReader(db: DatabaseSync): void {
  db.exec('PRAGMA cell_size_check = ON');
}

/**
 * The row id of a change is its revision above `base` and its place there, so that revisions are ranges of the table. SQLite counts with 64 bits
 * and JavaScript with 53, so that only statements put the two together, bit by bit, since a parameter is a REAL there and so is its sum with
 * anything: 2^43 revisions above the base, 5,000 a second for 55 years. Restored stores begin at revisions beyond that (`recovery/raised.ts`).
 */
const PLACE_BITS = 20;
export const mostChanges = 2 ** PLACE_BITS;
const BASE = '(SELECT base FROM head WHERE id = 1)';
export const seqAbove = (revisionAboveBase: string, place: string): string =>
  `((${revisionAboveBase} << ${PLACE_BITS}) | ${place})`;
export const seqOf = (revision: string, place: string): string => seqAbove(`(${revision} - ${BASE})`, place);
export const firstAfter = (revision: string): string => seqOf(`(${revision} + 1)`, '0');
export const revisionOfSeq = `((seq >> ${PLACE_BITS}) + ${BASE})`;
export const placeOfSeq = `(seq & ${mostChanges - 1})`;

/** What the checksum of a row begins with: all but the value. Of a deletion, which has none, the create revision is 0. */
export function keySum(key: string, createRevision: number, modRevision: number): number {
  return crc32(`${createRevision} ${modRevision} ${key}`);
}

/** Checksum of a row of `current`. */
export function rowSum(key: string, value: string, createRevision: number, modRevision: number): number {
  return crc32(value, keySum(key, createRevision, modRevision));
}

/** Checksum of a change, from the sums of both halves, so that neither can go missing. */
export function changeSum(written: number, prevSum: number | null): number {
  return (Math.imul(written, 31) ^ (prevSum ?? 0)) >>> 0;
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

export function decodeEntry(row: object): KvEntry {
  const { key, value, createRevision, modRevision } = decodeRow(row);
  return { key, value, createRevision, modRevision };
}

export function leaseSum(...fields: readonly (string | number)[]): number {
  return crc32(fields.join(' '));
}
