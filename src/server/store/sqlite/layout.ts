import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { cellsOf, prepareRows } from './rows.ts';
import { emptyMeta, makeLayout2, makeTables, type Meta, prepareReader, readMarker } from './schema.ts';

/** Settings of the connection that writes; makes the tables of a new file, and brings one of layout 1 to layout 2. */
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
    if (db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined) makeTables(db, emptyMeta);
    else bringForward(db);
    db.exec('COMMIT');
  } catch (error) {
    // A full disk has ended it already.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/**
 * The history of layout 1 is forgotten, which watchers and pages of lists at a past revision meet as a compaction; live rows stay as they
 * are. The pages of its log are free then, and leave the file in steps, as all free pages do when a store has been opened.
 */
function bringForward(db: DatabaseSync): void {
  const { format, meta } = readMarker(db);
  if (format !== 1) return;
  const hot = readHotSeal(db, meta.head);
  db.exec('DROP TABLE log');
  db.exec('DROP TABLE IF EXISTS hot_seal');
  makeLayout2(db, { ...meta, ...hot, floor: meta.head, logCount: 0, logMix: 0, logBytes: 0 });
}

/** Of layout 1, where the seal of the hot rows is in a table of its own; absent: there is none of the newest revision. */
function readHotSeal(db: DatabaseSync, head: number): Pick<Meta, 'hotCount' | 'hotMix'> | undefined {
  if (!hasTable(db, 'hot_seal')) return undefined;
  const row = prepareRows(db, 'SELECT rev, count, mix, sum FROM hot_seal WHERE id = 1').get();
  const [rev, hotCount = 0, hotMix = 0, sum] = row === undefined ? [] : cellsOf(row).map(Number);
  if (rev !== head || crc32([rev, hotCount, hotMix].join(' ')) !== sum) return undefined;
  return { hotCount, hotMix };
}

function hasTable(db: DatabaseSync, name: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
}
