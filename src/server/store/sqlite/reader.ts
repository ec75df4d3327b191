import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { compareKeys, prefixEnd } from '../key-order.ts';
import { KvCompactedError, type KvEntry, type RangeOptions, type RangeResult } from '../kv.ts';
import { cutAtBytes } from '../pages.ts';
import type { HistorySlice } from '../watchers.ts';
import { changeReader } from './changes.ts';
import { DamageError } from './fault.ts';
import { cellsOf, prepareRows } from './rows.ts';
import { decodeEntry, decodeMeta, firstAfter, type Meta, prepareReader, selectMeta } from './schema.ts';

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
    SELECT key, min(seq), prev_value, prev_create_rev, prev_mod_rev, prev_sum
    FROM history WHERE seq >= ${firstAfter(':revision')} AND key >= :from AND key < :to GROUP BY key
  ) WHERE prev_mod_rev IS NOT NULL`;

export function openReader(database: string): Reader {
  const db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
  prepareReader(db);
  const prepare = (sql: string): StatementSync => prepareRows(db, sql);
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
  };
  const readChanges = changeReader(db);
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
      const row = statements.get.get(key);
      return row && decodeEntry(row);
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
          return { ...cutAtBytes(decoded(statement.iterate(parameters), revision), options.bytes), revision };
        return { entries: [...decoded(statement.all(parameters), revision)], revision };
      });
    },

    size(prefix) {
      const [records, bytes] = cellsOf(statements.size.get(keyBounds(prefix, {})) ?? []);
      return { records: Number(records), bytes: Number(bytes) };
    },

    history(afterRevision, maxRevisions) {
      return snapshot(({ head, floor }) => {
        if (afterRevision < floor) return { compacted: true, floor };
        const upTo = Math.min(head, afterRevision + maxRevisions);
        return { compacted: false, batches: readChanges(afterRevision, upTo), upTo, more: upTo < head };
      });
    },

    close() {
      db.close();
    },
  };
}

function* decoded(rows: Iterable<object>, revision: number): Generator<KvEntry> {
  for (const row of rows) {
    const entry = decodeEntry(row);
    // The change that replaced what was there before is missing.
    if (entry.modRevision > revision)
      throw new DamageError(`the history of key ${entry.key} after revision ${revision} has a gap`);
    yield entry;
  }
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
