import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { prefixEnd } from '../key-order.ts';
import type { KvEntry, RangeResult } from '../kv.ts';
import { DamageError } from './fault.ts';
import { cellsOf, prepareRows } from './rows.ts';
import { decodeMeta, prepareReader, selectMeta } from './schema.ts';

/** Rows that are read at once. */
const BLOCK_ROWS = 512;
/** A block of more is halved: what it holds is in memory twice for a moment. */
const BLOCK_BYTES = 8 * 1024 * 1024;
/** Where fewer than one row in so many is wanted, each is looked up by itself. */
const SPARSE = 8;

/** From a key on, and up to another; a blob ranks after every text. */
export function keysUnder(prefix: string): readonly [SQLInputValue, SQLInputValue] {
  return [prefix, prefixEnd(prefix) ?? new Uint8Array()];
}

const COLUMNS = 'key, value, create_rev, mod_rev, sum';
const UNDER = 'key >= ? AND key < ?';

/** In order. As one text: as a row each they would take thirty times the memory. */
function rowIds(db: DatabaseSync, bounds: readonly SQLInputValue[]): Float64Array {
  const row = prepareRows(db, `SELECT json_group_array(rowid) FROM current WHERE ${UNDER}`).get(...bounds);
  const ids: readonly number[] = JSON.parse(String(cellsOf(row ?? [])[0]));
  return Float64Array.from(ids).sort();
}

/** Rows of keys under a prefix, in the order of the table: as arrays of key, value, create_rev, mod_rev and sum, many at a time. */
export function* rowBlocks(db: DatabaseSync, prefix: string): Generator<readonly object[]> {
  const bounds = keysUnder(prefix);
  const ids = rowIds(db, bounds);
  const between = `FROM current NOT INDEXED WHERE rowid BETWEEN ? AND ? AND ${UNDER}`;
  const bytes = prepareRows(db, `SELECT total(octet_length(value)) ${between}`);
  const block = prepareRows(db, `SELECT ${COLUMNS} ${between}`);
  const one = prepareRows(db, `SELECT ${COLUMNS} FROM current WHERE rowid = ?`);
  for (let at = 0, rows = BLOCK_ROWS; at < ids.length; rows = Math.min(BLOCK_ROWS, rows * 2)) {
    let [first, last] = [ids[at] ?? 0, 0];
    for (; ; rows = Math.ceil(rows / 2)) {
      rows = Math.min(rows, ids.length - at);
      last = ids[at + rows - 1] ?? first;
      if (rows === 1 || last - first >= rows * SPARSE) break;
      if (Number(cellsOf(bytes.get(first, last, ...bounds) ?? [])[0]) <= BLOCK_BYTES) break;
    }
    if (last - first < rows * SPARSE) {
      yield block.all(first, last, ...bounds);
      at += rows;
    } else {
      const found: object[] = [];
      let size = 0;
      for (const end = at + rows; at < end && size < BLOCK_BYTES; at += 1) {
        const row = one.get(ids[at] ?? 0);
        if (row === undefined)
          throw new DamageError(`row ${ids[at]} is in the index of keys and not in the table`);
        found.push(row);
        size += String(cellsOf(row)[1]).length;
      }
      yield found;
    }
  }
}

/**
 * Everything under a prefix as one snapshot, in the order of the table, which takes a third of the time that the order of the keys takes: rows
 * of a page lie in few places of the file. Rows are not held against their checksums: while a store is opened its writer does that.
 */
export function* tablePages(database: string, prefix: string): Generator<RangeResult, undefined> {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  try {
    prepareReader(db);
    db.exec('BEGIN');
    const { head: revision } = decodeMeta(prepareRows(db, selectMeta).get());
    for (const rows of rowBlocks(db, prefix)) yield { entries: rows.map(entryOf), revision, more: true };
    yield { entries: [], revision };
    return undefined;
  } finally {
    db.close();
  }
}

function entryOf(row: object): KvEntry {
  const [key, value, createRevision, modRevision] = cellsOf(row);
  if (
    typeof key !== 'string' ||
    typeof value !== 'string' ||
    typeof createRevision !== 'number' ||
    typeof modRevision !== 'number'
  )
    throw new DamageError(`key ${String(key)} is no row of the store`);
  return { key, value, createRevision, modRevision };
}
