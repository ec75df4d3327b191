import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type KvEntry, KvUnavailableError } from '../kv.ts';
import { DamageError, describeFault } from './fault.ts';
import { storeFiles } from './files.ts';
import { prepareRows } from './rows.ts';
import { decodeRow, prepareReader, readMeta } from './schema.ts';

const PAGE_BYTES = 1024 * 1024;

/**
 * Everything at one revision, in key order, read by a process of its own beside the one that serves the store: a read transaction of
 * SQLite sees one state, however long it takes. Meanwhile the write-ahead log cannot be reused, so it grows by what is written.
 */
export interface SqliteSnapshot {
  readonly revision: number;
  pages(): AsyncGenerator<readonly KvEntry[]>;
  close(): void;
}

export function openSqliteSnapshot(dir: string): SqliteSnapshot {
  const { database } = storeFiles(dir);
  const faulty = (error: unknown): KvUnavailableError =>
    new KvUnavailableError(describeFault(error, database, dir).message, true, { cause: error });
  if (!existsSync(database)) throw new KvUnavailableError(`there is no store at ${database}`, true);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(database, { readOnly: true, timeout: 5000 });
    prepareReader(db);
    db.exec('BEGIN');
    const meta = readMeta(db);
    const rows = prepareRows(db, 'SELECT key, value, create_rev, mod_rev, sum FROM current ORDER BY key');
    const opened = db;
    return {
      revision: meta.head,
      async *pages() {
        let [count, mix, bytes] = [0, 0, 0];
        let page: KvEntry[] = [];
        try {
          for (const row of rows.iterate()) {
            const { sum, ...entry } = decodeRow(row);
            count += 1;
            mix = (mix ^ sum) >>> 0;
            bytes += entry.value.length;
            page.push(entry);
            if (bytes < PAGE_BYTES) continue;
            yield page;
            page = [];
            bytes = 0;
          }
          if (count !== meta.currentCount || mix !== meta.currentMix)
            throw new DamageError(`${meta.currentCount} keys were written, ${count} are found, or others`);
        } catch (error) {
          throw faulty(error);
        }
        if (page.length > 0) yield page;
      },
      close: () => opened.close(),
    };
  } catch (error) {
    db?.close();
    throw faulty(error);
  }
}
