import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { compareKeys, prefixEnd } from '../key-order.ts';
import {
  type KvChange,
  type KvChangeBatch,
  KvCompactedError,
  type KvEntry,
  type RangeOptions,
  type RangeResult,
} from '../kv.ts';
import { cutAtBytes } from '../pages.ts';
import type { HistorySlice } from '../watchers.ts';
import { DamageError } from './fault.ts';
import { decodeMeta, deletionSum, type Meta, prepareReader, rowSum, selectMeta } from './schema.ts';

type Row = [key: string, value: string, createRev: number, modRev: number, sum: number];
type LogRow = [rev: number, key: string, value: string | null, createRev: number, sum: number];

/** Reads on the calling thread, from a connection of its own that sees every committed transaction. */
export interface Reader {
  meta(): Meta;
  get(key: string): KvEntry | undefined;
  range(prefix: string, options: RangeOptions): RangeResult;
  size(prefix: string): { readonly records: number; readonly bytes: number };
  history(afterRevision: number, maxRevisions: number): HistorySlice;
  close(): void;
}

const now = `SELECT key, value, create_rev, mod_rev, sum FROM current WHERE key >= :from AND key < :to`;
// SQLite takes the other columns from the row that holds the minimum.
const past = `
  ${now} AND mod_rev <= :revision
  UNION ALL
  SELECT key, prev_value, prev_create_rev, prev_mod_rev, prev_sum FROM (
    SELECT key, min(rev), prev_value, prev_create_rev, prev_mod_rev, prev_sum
    FROM log WHERE rev > :revision AND key >= :from AND key < :to GROUP BY key
  ) WHERE prev_mod_rev IS NOT NULL`;

export function openReader(database: string): Reader {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  prepareReader(db);
  const prepare = (sql: string): StatementSync => {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  const statements = {
    begin: db.prepare('BEGIN'),
    end: db.prepare('COMMIT'),
    meta: prepare(selectMeta),
    get: prepare('SELECT key, value, create_rev, mod_rev, sum FROM current WHERE key = ?'),
    now: {
      up: prepare(`${now} ORDER BY key LIMIT :limit`),
      down: prepare(`${now} ORDER BY key DESC LIMIT :limit`),
    },
    past: {
      up: prepare(`${past} ORDER BY key LIMIT :limit`),
      down: prepare(`${past} ORDER BY key DESC LIMIT :limit`),
    },
    // The length of a value is in the row's header: long values are not read for it.
    size: prepare(
      'SELECT count(*), coalesce(sum(octet_length(value)), 0) FROM current WHERE key >= :from AND key < :to',
    ),
    history: prepare(
      'SELECT rev, key, value, create_rev, sum FROM log WHERE rev > ? AND rev <= ? ORDER BY seq',
    ),
  };
  const readMeta = (): Meta => decodeMeta(statements.meta.get());

  function snapshot<T>(read: (meta: Meta) => T): T {
    statements.begin.run();
    try {
      return read(readMeta());
    } finally {
      statements.end.run();
    }
  }

  return {
    meta: readMeta,

    get(key) {
      const row = statements.get.get(key) as unknown as Row | undefined;
      return row && decodeRow(row);
    },

    range(prefix, options) {
      const bounds = keyBounds(prefix, options);
      return snapshot(({ head, floor }) => {
        const revision = options.revision ?? head;
        if (revision < floor) throw new KvCompactedError(`revision ${revision} is compacted up to ${floor}`);
        if (revision > head)
          throw new RangeError(`revision ${revision} is not yet written (newest is ${head})`);
        const order = options.reverse === true ? 'down' : 'up';
        const limits = { ...bounds, ':limit': options.limit ?? -1 };
        const [statement, parameters] =
          revision === head
            ? [statements.now[order], limits]
            : [statements.past[order], { ...limits, ':revision': revision }];
        if (options.bytes !== undefined)
          return { ...cutAtBytes(decoded(statement.iterate(parameters) as never), options.bytes), revision };
        const rows = statement.all(parameters);
        return { entries: (rows as unknown as Row[]).map(decodeRow), revision };
      });
    },

    size(prefix) {
      const [records, bytes] = statements.size.get(keyBounds(prefix, {})) as unknown as [number, number];
      return { records, bytes };
    },

    history(afterRevision, maxRevisions) {
      return snapshot(({ head, floor }) => {
        if (afterRevision < floor) return { compacted: true, floor };
        const upTo = Math.min(head, afterRevision + maxRevisions);
        const rows = statements.history.all(afterRevision, upTo) as unknown as LogRow[];
        return { compacted: false, batches: toBatches(rows), upTo, more: upTo < head };
      });
    },

    close() {
      db.close();
    },
  };
}

function* decoded(rows: Iterable<Row>): Generator<KvEntry> {
  for (const row of rows) yield decodeRow(row);
}

function keyBounds(prefix: string, { after, reverse = false }: RangeOptions): Record<string, SQLInputValue> {
  let from = prefix;
  let to = prefixEnd(prefix);
  if (after !== undefined && reverse && (to === undefined || compareKeys(after, to) < 0)) to = after;
  // Nothing lies between a key and the same key followed by NUL.
  if (after !== undefined && !reverse && compareKeys(after, from) >= 0) from = `${after}\0`;
  // A blob ranks after every text.
  return { ':from': from, ':to': to ?? new Uint8Array() };
}

function decodeRow([key, value, createRevision, modRevision, sum]: Row): KvEntry {
  if (rowSum(key, value, createRevision, modRevision) !== sum)
    throw new DamageError(`key ${key} fails its checksum`);
  return { key, value, createRevision, modRevision };
}

function decodeChange([revision, key, value, createRevision, sum]: LogRow): KvChange {
  if (value !== null) return { key, revision, entry: decodeRow([key, value, createRevision, revision, sum]) };
  if (deletionSum(key, revision) !== sum)
    throw new DamageError(`revision ${revision} of key ${key} fails its checksum`);
  return { key, revision };
}

function toBatches(rows: readonly LogRow[]): KvChangeBatch[] {
  const batches: { revision: number; changes: KvChange[] }[] = [];
  for (const row of rows) {
    const change = decodeChange(row);
    const last = batches.at(-1);
    if (last?.revision === change.revision) last.changes.push(change);
    else batches.push({ revision: change.revision, changes: [change] });
  }
  return batches;
}
