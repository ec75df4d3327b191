import { closeSync, fsyncSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isHot } from '../keys.ts';
import type { KvEntry } from '../kv.ts';
import { makeDirectory, makePrivateFile, storeFiles } from './files.ts';
import { emptyMeta, makeTables, metaRow, replaceMeta, rowSum } from './schema.ts';

/**
 * Makes a store file of entries as they are, revisions included, whose newest revision is `head`; it has no history. The folder must be
 * new: until this returns the file is good for nothing, and only then is it on the disk.
 */
export async function loadSqlite(
  dir: string,
  head: number,
  pages: AsyncIterable<readonly KvEntry[]>,
): Promise<void> {
  const files = storeFiles(dir);
  makeDirectory(dir);
  makePrivateFile(files.database, dir);
  const db = new DatabaseSync(files.database);
  try {
    // As a store that is written makes it; the other two are for a file that is thrown away when this is cut off.
    db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.exec('PRAGMA journal_mode = OFF');
    db.exec('PRAGMA synchronous = OFF');
    const meta = { ...emptyMeta, base: head, head, floor: head };
    makeTables(db, meta);
    const insert = db.prepare('INSERT INTO current VALUES (?, ?, ?, ?, ?)');
    db.exec('BEGIN');
    for await (const page of pages) {
      for (const { key, value, createRevision, modRevision } of page) {
        const sum = rowSum(key, value, createRevision, modRevision);
        insert.run(key, value, createRevision, modRevision, sum);
        meta.currentCount += 1;
        meta.currentMix = (meta.currentMix ^ sum) >>> 0;
        if (!isHot(key)) continue;
        meta.hotCount += 1;
        meta.hotMix = (meta.hotMix ^ sum) >>> 0;
      }
    }
    db.prepare(replaceMeta).run(...metaRow(meta));
    db.exec('COMMIT');
  } finally {
    db.close();
  }
  for (const path of [files.database, dir]) syncPath(path);
}

export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
