import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import { KvUnavailableError } from '../kv.ts';
import { isBusy } from './fault.ts';
import { makePrivateFile, type StoreFiles } from './files.ts';

export interface DirectoryLock {
  release(): void;
}

/**
 * One process per data directory. The lock is the operating system's, taken through an otherwise empty SQLite file,
 * so it ends with the process however that ends; the holder's file only lends a name to the message.
 */
export function lockDirectory(files: StoreFiles): DirectoryLock {
  makePrivateFile(files.lock, files.dir);
  const lock = new DatabaseSync(files.lock, { timeout: 0 });
  try {
    // Nothing is ever written, so there is no need for a journal file, which a full disk would not hold.
    lock.exec('PRAGMA journal_mode = MEMORY');
    lock.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    lock.close();
    if (!isBusy(error)) throw error;
    throw new KvUnavailableError(`the data directory ${files.dir} is in use by ${readHolder(files)}`, true, {
      cause: error,
    });
  }
  writeHolder(files);
  return {
    release() {
      lock.close();
    },
  };
}

function writeHolder(files: StoreFiles): void {
  try {
    writeFileSync(files.holder, `process ${process.pid} on ${hostname()}\n`, { mode: 0o600 });
  } catch {
    // A full disk must not keep the store from opening: it may be needed to delete.
  }
}

function readHolder(files: StoreFiles): string {
  try {
    return readFileSync(files.holder, 'utf8').trim() || 'another process';
  } catch {
    return 'another process';
  }
}
