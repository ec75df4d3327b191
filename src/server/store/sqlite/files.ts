import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../shared/folders.ts';

/** The files of one store, all in its data directory. */
export interface StoreFiles {
  readonly dir: string;
  readonly database: string;
  /** Held open under an exclusive lock by the process that owns the directory. */
  readonly lock: string;
  /** Who holds the lock, for the message of a second process; it decides nothing. */
  readonly holder: string;
  /** Space given back when the disk is full, so that deletions still fit. */
  readonly ballast: string;
}

export function storeFiles(dir: string): StoreFiles {
  return {
    dir,
    database: join(dir, 'berth.db'),
    lock: join(dir, 'berth.lock'),
    holder: join(dir, 'berth.holder'),
    ballast: join(dir, 'berth.ballast'),
  };
}

export function makeDirectory(dir: string): void {
  makeFolder(dir, '--data-dir');
}

/**
 * Makes an empty file that only its owner may read; SQLite gives its journal files the same mode. An existing file
 * is not opened: closing any descriptor of a file drops every lock this process holds on it.
 */
export function makePrivateFile(path: string, dir: string): void {
  if (existsSync(path)) return;
  closeSync(openSync(path, 'wx', 0o600));
  const handle = openSync(dir, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Of the database and of what is not written into it yet. */
export async function bytesOf({ database }: StoreFiles): Promise<number> {
  const sizes = [database, `${database}-wal`].map((path) => stat(path).catch(() => ({ size: 0 })));
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0);
}
