import type { DatabaseSync } from 'node:sqlite';
import { describeFault, type StoreFault } from './fault.ts';
import type { StoreFiles } from './files.ts';
import type { Ledger } from './ledger.ts';

/** Pages that a small transaction writes, roughly. */
const pagesPerTransaction = 8;
const vacuumPagesPerStep = 128;
/** Free pages worth giving back to the file system. */
const vacuumAbovePages = 512;
/**
 * Transactions share pages, so that the log is shorter than the sum of what each is assumed to write; how much shorter is
 * learned from every fold. Never less than half is assumed: what comes next may share nothing.
 */
const leastShare = 0.5;
const newShareWeight = 0.25;
/** How long a transaction waits for another process that has the file locked. */
export const busyTimeoutMs = 5000;

/** Runs work on the ledger as transactions of the database, and keeps the write-ahead log short. */
export interface Transactions {
  /** Runs the work in one transaction; a fault undoes all of it and is returned. */
  run(work: () => void): StoreFault | undefined;
  /** Durable transactions so far. */
  readonly count: number;
  /** Why writes fail now. */
  fault: StoreFault | undefined;
  /** Tells how much has been written beside what `run` assumes. */
  addPages(pages: number): void;
  /** Moves the write-ahead log into the database once it has this many pages, so that its file is reused. */
  checkpoint(abovePages: number): void;
  /** Empties the write-ahead log. False: a reader holds it, try again. */
  truncate(): boolean;
  /** Inside a transaction: gives some free pages back to the file system, if there are more than a few or `all` are to go. True when more are left. */
  vacuum(all: boolean): boolean;
}

export function createTransactions(
  db: DatabaseSync,
  ledger: Ledger,
  files: StoreFiles,
  onFault: (fault: StoreFault | undefined) => void,
): Transactions {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const truncation = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)');
  const freePages = db.prepare('PRAGMA freelist_count');
  let current: StoreFault | undefined;
  let count = 0;
  let pages = 0;
  let share = 1;

  function learnShare(assumed: number): void {
    const folded = checkpoint.get();
    const [log, checkpointed] = [Number(folded?.['log']), Number(folded?.['checkpointed'])];
    if (checkpointed !== log || log <= 0 || assumed < pagesPerTransaction) return;
    const seen = Math.min(1, Math.max(leastShare, log / assumed));
    share += (seen - share) * newShareWeight;
  }

  const describe = (error: unknown): StoreFault => describeFault(error, files.database, files.dir);

  function setFault(next: StoreFault | undefined): void {
    if (next?.message === current?.message) return;
    current = next;
    onFault(next);
  }

  function undo(): void {
    try {
      if (db.isTransaction) db.exec('ROLLBACK');
      ledger.settle(false);
    } catch (error) {
      setFault(describe(error));
    }
  }

  return {
    run(work) {
      try {
        begin.run();
        work();
        ledger.seal();
        const { changed } = ledger;
        commit.run();
        ledger.settle(true);
        if (changed) {
          count++;
          pages += pagesPerTransaction;
        }
        return undefined;
      } catch (error) {
        undo();
        return describe(error);
      }
    },
    get count() {
      return count;
    },
    get fault() {
      return current;
    },
    set fault(next) {
      setFault(next);
    },
    addPages(more) {
      pages += more;
    },
    checkpoint(abovePages) {
      if (pages * share <= abovePages) return;
      const assumed = pages;
      pages = 0;
      try {
        learnShare(assumed);
      } catch (error) {
        // The writes stay in the log and are durable there; only damage matters.
        pages = 1;
        const found = describe(error);
        if (found.kind === 'damaged') setFault(found);
      }
    },
    truncate() {
      try {
        // Writes would wait with it for a reader, e.g. one that takes a backup.
        db.exec('PRAGMA busy_timeout = 0');
        const busy = truncation.get()?.['busy'];
        pages = 0;
        return busy === 0;
      } catch (error) {
        const found = describe(error);
        if (found.kind === 'damaged') setFault(found);
        return false;
      } finally {
        db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      }
    },
    vacuum(all) {
      const free = Number(freePages.get()?.['freelist_count']);
      if (free === 0 || (!all && free < vacuumAbovePages)) return false;
      db.exec(`PRAGMA incremental_vacuum(${vacuumPagesPerStep})`);
      pages += vacuumPagesPerStep;
      return true;
    },
  };
}
