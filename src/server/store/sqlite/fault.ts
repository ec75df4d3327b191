import { statfsSync } from 'node:fs';
import { messageOf } from '../../../core/model/values.ts';

/** What kept the database from doing its work: no space, damaged content, a layout of another release, or the disk failing some other way. */
export type FaultKind = 'full' | 'damaged' | 'layout' | 'failed';

export interface StoreFault {
  readonly kind: FaultKind;
  /** For an operator: what is wrong, where, what to do. */
  readonly message: string;
  /** False when the failing transaction may yet turn out to be on the disk. */
  readonly certainlyNotApplied: boolean;
}

/** A row whose checksum does not fit its content, or content that does not add up. */
export class DamageError extends Error {
  override readonly name = 'DamageError';
}

/** Its tables are those of another release. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

// Primary result codes of SQLite (the low byte of an extended code).
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;
const SQLITE_IOERR_SHORT_READ = 522;

/** Below this a failing write is put down to lack of space even when the system call said something else. */
const nearlyFullBytes = 256 * 1024;

export function describeFault(error: unknown, database: string, dir: string): StoreFault {
  const code = sqliteCode(error);
  const primary = code & 0xff;
  const cause = messageOf(error);
  if (error instanceof LayoutError)
    return { kind: 'layout', message: `the store file ${database} ${cause}`, certainlyNotApplied: true };
  if (
    error instanceof DamageError ||
    primary === SQLITE_CORRUPT ||
    primary === SQLITE_NOTADB ||
    code === SQLITE_IOERR_SHORT_READ
  ) {
    return { kind: 'damaged', message: damageMessage(database, cause), certainlyNotApplied: true };
  }
  if (primary === SQLITE_FULL || isNoSpace(error)) return fullFault(dir);
  // A failed sync leaves open whether the transaction reached the disk.
  const certainlyNotApplied = primary !== SQLITE_IOERR;
  if (primary === SQLITE_IOERR && freeBytes(dir) < nearlyFullBytes) {
    return { ...fullFault(dir), certainlyNotApplied };
  }
  return {
    kind: 'failed',
    message: `the store file ${database} cannot be used: ${cause}`,
    certainlyNotApplied,
  };
}

export function fullFault(dir: string): StoreFault {
  return {
    kind: 'full',
    message: `no space left on the disk of the data directory ${dir}: free some space; writes resume on their own (deletions are still accepted while the reserve lasts)`,
    certainlyNotApplied: true,
  };
}

function damageMessage(database: string, cause: string): string {
  return `the store file ${database} is damaged (${cause}): stop the server, keep a copy of the file, and restore a backup in its place; moving it aside starts an empty store`;
}

export function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

function sqliteCode(error: unknown): number {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return 0;
  return typeof error.errcode === 'number' ? error.errcode : 0;
}

export function isBusy(error: unknown): boolean {
  return (sqliteCode(error) & 0xff) === 5;
}

function isNoSpace(error: unknown): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error)) return false;
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
}
