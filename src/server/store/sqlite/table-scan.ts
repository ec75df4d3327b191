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
const BETWEEN = `FROM current NOT INDEXED WHERE rowid BETWEEN ? AND ? AND ${UNDER}`;
/** In no key: in their segments it is encoded. */
const KEY_END = '\n';
/** What is joined was of any type: the last column counts what is not of its column's. */
const JOINED = `CAST(group_concat(value, '') AS BLOB), group_concat(key, char(10)), group_concat(octet_length(value)),
  group_concat(create_rev), group_concat(mod_rev), group_concat(sum),
  total(typeof(value) <> 'text' OR typeof(create_rev) <> 'integer' OR typeof(mod_rev) <> 'integer' OR typeof(sum) <> 'integer')`;

/** In order. As one text: as a row each they would take thirty times the memory. */
function rowIds(db: DatabaseSync, bounds: readonly SQLInputValue[]): Float64Array {
  const row = prepareRows(db, `SELECT json_group_array(rowid) FROM current WHERE ${UNDER}`).get(...bounds);
  const ids: readonly number[] = JSON.parse(String(cellsOf(row ?? [])[0]));
  return Float64Array.from(ids).sort();
}

/** Rows that lie close together, or some that do not. */
type Span = { readonly first: number; readonly last: number } | { readonly ids: Float64Array };

/** The rows of keys within bounds, in the order of the table, in parts that may be held at once; those that lie apart may be more. */
function* rowSpans(db: DatabaseSync, bounds: readonly SQLInputValue[]): Generator<Span> {
  const ids = rowIds(db, bounds);
  const bytes = prepareRows(db, `SELECT total(octet_length(value)) ${BETWEEN}`);
  for (let at = 0, rows = BLOCK_ROWS; at < ids.length; rows = Math.min(BLOCK_ROWS, rows * 2)) {
    let [first, last] = [ids[at] ?? 0, 0];
    for (; ; rows = Math.ceil(rows / 2)) {
      rows = Math.min(rows, ids.length - at);
      last = ids[at + rows - 1] ?? first;
      if (rows === 1 || last - first >= rows * SPARSE) break;
      if (Number(cellsOf(bytes.get(first, last, ...bounds) ?? [])[0]) <= BLOCK_BYTES) break;
    }
    yield last - first < rows * SPARSE ? { first, last } : { ids: ids.subarray(at, at + rows) };
    at += rows;
  }
}

/** Looks rows up one by one. */
function* rowsById(db: DatabaseSync, ids: Float64Array): Generator<readonly object[]> {
  const one = prepareRows(db, `SELECT ${COLUMNS} FROM current WHERE rowid = ?`);
  let [found, size]: [object[], number] = [[], 0];
  for (const id of ids) {
    const row = one.get(id);
    if (row === undefined) throw new DamageError(`row ${id} is in the index of keys and not in the table`);
    found.push(row);
    size += String(cellsOf(row)[1]).length;
    if (size < BLOCK_BYTES) continue;
    yield found;
    [found, size] = [[], 0];
  }
  if (found.length > 0) yield found;
}

/** Rows of keys under a prefix, in the order of the table: as arrays of key, value, create_rev, mod_rev and sum, many at a time. */
function* rowBlocks(db: DatabaseSync, prefix: string): Generator<readonly object[]> {
  const bounds = keysUnder(prefix);
  const block = prepareRows(db, `SELECT ${COLUMNS} ${BETWEEN}`);
  for (const span of rowSpans(db, bounds)) {
    if ('ids' in span) yield* rowsById(db, span.ids);
    else yield block.all(span.first, span.last, ...bounds);
  }
}

/** Rows by column. */
export interface JoinedRows {
  readonly keys: readonly string[];
  /** All values in UTF-8, one after another, in memory of their own. */
  readonly values: Uint8Array<ArrayBuffer>;
  readonly lengths: readonly number[];
  readonly createRevisions: readonly number[];
  readonly modRevisions: readonly number[];
  readonly sums: readonly number[];
}

/** The same rows, joined by SQLite: a text or a number of its own for each value of each row would take as long as finding it in the file. */
export function* joinedBlocks(db: DatabaseSync, prefix: string): Generator<JoinedRows> {
  const bounds = keysUnder(prefix);
  const joined = prepareRows(db, `SELECT ${JOINED} ${BETWEEN}`);
  for (const span of rowSpans(db, bounds)) {
    if ('ids' in span) for (const rows of rowsById(db, span.ids)) yield joinRows(rows);
    else yield splitJoined(joined.get(span.first, span.last, ...bounds) ?? []);
  }
}

function splitJoined(row: object): JoinedRows {
  const [values, keys, ...rest] = cellsOf(row);
  const [columns, odd] = [rest.slice(0, -1), rest.at(-1)];
  if (!(values instanceof Uint8Array) || odd !== 0) throw new DamageError('values cannot be read');
  const numbers = columns.map((column): readonly number[] => JSON.parse(`[${String(column)}]`));
  const [lengths = [], createRevisions = [], modRevisions = [], sums = []] = numbers;
  const all = { keys: String(keys).split(KEY_END), lengths, createRevisions, modRevisions, sums };
  const bytes = lengths.reduce((sum, length) => sum + length, 0);
  // Whatever is NULL is left out of what is joined.
  if (bytes !== values.length || Object.values(all).some(({ length }) => length !== lengths.length))
    throw new DamageError('rows cannot be read');
  return { ...all, values };
}

function joinRows(rows: readonly object[]): JoinedRows {
  const entries = rows.map((row) => ({ ...entryOf(row), sum: Number(cellsOf(row)[4]) }));
  const lengths = entries.map(({ value }) => Buffer.byteLength(value));
  const values = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  Buffer.from(values.buffer).write(entries.map(({ value }) => value).join(''));
  return {
    keys: entries.map(({ key }) => key),
    values,
    lengths,
    createRevisions: entries.map(({ createRevision }) => createRevision),
    modRevisions: entries.map(({ modRevision }) => modRevision),
    sums: entries.map(({ sum }) => sum),
  };
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
