import { DatabaseSync } from 'node:sqlite';
import { createLedger, type Ledger } from './ledger.ts';
import { describeFault, type StoreFault } from './fault.ts';
import { storeFiles } from './files.ts';
import { answers, type FromWriter, type Operation, type Wire, type WriterOptions } from './protocol.ts';
import { prepareWriter } from './schema.ts';
import { createBallast } from './space.ts';
import { verifyContent } from './verify.ts';
import { verifyWal } from './wal-check.ts';

export interface Writer {
  enqueue(operations: readonly Operation[]): void;
  close(): void;
}

const operationsPerTransaction = 1024;
const bytesPerTransaction = 8 * 1024 * 1024;
const sweepRowsPerStep = 256;
const vacuumPagesPerStep = 128;
/** Free pages worth giving back to the file system. */
const vacuumAbovePages = 512;
const checkpointAbovePages = 4000;
/** Pages that a small transaction writes, roughly. */
const pagesPerTransaction = 8;

// On a full disk history is worth less than the space it takes, and the log of writes must stay inside the reserve.
const keepWhenShort = { revisions: 100, bytes: 1024 * 1024 };
const sweepRowsWhenShort = 64;
const checkpointAbovePagesWhenShort = 128;
const maintenanceEveryMs = 20;
const shortageProbeMs = 500;

/**
 * The only writer of the database. Everything that has queued while one transaction was being synced shares the next:
 * each commit is judged against the state that its predecessors in the transaction left, and gets its own revision.
 */
export function openWriter(options: WriterOptions, post: (message: FromWriter) => void): Writer {
  const files = storeFiles(options.dir);
  verifyWal(`${files.database}-wal`);
  const db = new DatabaseSync(files.database, { timeout: 5000 });
  prepareWriter(db);
  const ledger: Ledger = createLedger(db);
  verifyContent(db, ledger.meta);
  const ballast = createBallast(files.ballast, files.dir, options.ballastBytes);
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  const freePages = db.prepare('PRAGMA freelist_count');

  const keep = { revisions: options.keepRevisions, bytes: options.keepBytes };
  let queue: Operation[] = [];
  let draining = false;
  let closed = false;
  let pagesSinceCheckpoint = 0;
  let transactions = 0;
  let fault: StoreFault | undefined;
  let leaseTimer: NodeJS.Timeout | undefined;
  let maintenanceTimer: NodeJS.Timeout | undefined;
  let probeTimer: NodeJS.Timeout | undefined;

  function setFault(next: StoreFault | undefined): void {
    if (next?.message === fault?.message) return;
    fault = next;
    post({ kind: 'problem', damaged: next?.kind === 'damaged', problem: next?.message });
  }

  /** Runs the work in one transaction; a fault undoes all of it. */
  function transact(work: () => void): StoreFault | undefined {
    try {
      db.exec('BEGIN IMMEDIATE');
      work();
      ledger.seal();
      const { changed } = ledger;
      db.exec('COMMIT');
      ledger.settle(true);
      if (changed) {
        transactions++;
        pagesSinceCheckpoint += pagesPerTransaction;
      }
      return undefined;
    } catch (error) {
      const found = describeFault(error, files.database, files.dir);
      undo();
      return found;
    }
  }

  function undo(): void {
    try {
      if (db.isTransaction) db.exec('ROLLBACK');
      ledger.settle(false);
    } catch (error) {
      setFault(describeFault(error, files.database, files.dir));
    }
  }

  function refuse(into: Wire, { certainlyNotApplied, message }: StoreFault): void {
    into.push(answers.unavailable, certainlyNotApplied ? 1 : 0, message);
  }

  function run(batch: readonly Operation[]): Wire {
    if (fault?.kind === 'damaged') return refuseAll(batch, fault);
    if (fault?.kind === 'full') return runShort(batch, fault);
    const wire: Wire = [];
    const found = transact(() => {
      ledger.expire(wire);
      const rows = ledger.meta.logCount;
      for (const operation of batch) ledger.apply(operation, wire);
      ledger.sweep(keep, Math.max(sweepRowsPerStep, 2 * (ledger.meta.logCount - rows)));
    });
    setFault(found);
    if (found?.kind === 'full') {
      startShortage();
      return runShort(batch, found);
    }
    return found === undefined ? wire : refuseAll(batch, found);
  }

  function refuseAll(batch: readonly Operation[], reason: StoreFault): Wire {
    const wire: Wire = [];
    for (let i = 0; i < batch.length; i++) refuse(wire, reason);
    return wire;
  }

  /** On a full disk: what frees space is tried in the reserve, one by one so that one too many fails alone. */
  function runShort(batch: readonly Operation[], shortage: StoreFault): Wire {
    const wire: Wire = [];
    if (transact(() => ledger.expire(wire)) !== undefined) wire.length = 0;
    for (const operation of batch) {
      const mark = wire.length;
      const isRefused =
        operation.kind === 'grant' || (operation.kind === 'commit' && !mayRunShort(operation));
      let found = isRefused ? shortage : applyShort(operation, wire);
      if (found?.kind === 'full' && !isRefused) {
        wire.length = mark;
        tryCheckpoint();
        found = applyShort(operation, wire);
      }
      if (found === undefined) continue;
      wire.length = mark;
      refuse(wire, found);
      if (found.kind === 'damaged') setFault(found);
    }
    return wire;
  }

  function mayRunShort(operation: Extract<Operation, { kind: 'commit' }>): boolean {
    try {
      return ledger.frees(operation);
    } catch (error) {
      setFault(describeFault(error, files.database, files.dir));
      return false;
    }
  }

  function applyShort(operation: Operation, wire: Wire): StoreFault | undefined {
    const found = transact(() => {
      ledger.apply(operation, wire);
      ledger.sweep(keepWhenShort, sweepRowsWhenShort);
    });
    if (pagesSinceCheckpoint > checkpointAbovePagesWhenShort) tryCheckpoint();
    return found;
  }

  function startShortage(): void {
    ballast.release();
    tryCheckpoint();
    probeTimer ??= setInterval(endShortage, shortageProbeMs);
    maintenanceTimer ??= setTimeout(maintain, maintenanceEveryMs);
  }

  function endShortage(): void {
    if (!ballast.fill()) {
      maintenanceTimer ??= setTimeout(maintain, maintenanceEveryMs);
      return;
    }
    clearInterval(probeTimer);
    probeTimer = undefined;
    if (fault?.kind === 'full') setFault(undefined);
    scheduleLeases();
  }

  /** Moves the log of writes into the database so that its file is used anew from the start. */
  function tryCheckpoint(): void {
    if (pagesSinceCheckpoint === 0) return;
    pagesSinceCheckpoint = 0;
    try {
      checkpoint.get();
    } catch (error) {
      // The writes stay in the log and are durable there; only damage matters.
      pagesSinceCheckpoint = 1;
      const found = describeFault(error, files.database, files.dir);
      if (found.kind === 'damaged') setFault(found);
    }
  }

  function drain(): void {
    draining = false;
    if (closed) return;
    const { batch, bytes } = takeBatch();
    const wire = run(batch);
    post({ kind: 'answers', wire, transactions });
    pagesSinceCheckpoint += 3 * batch.length + Math.ceil((3 * bytes) / 4096);
    if (pagesSinceCheckpoint > checkpointAbovePages) tryCheckpoint();
    scheduleLeases();
    if (queue.length > 0) schedule();
    else maintenanceTimer ??= setTimeout(maintain, maintenanceEveryMs);
  }

  function takeBatch(): { batch: Operation[]; bytes: number } {
    let count = 0;
    let bytes = 0;
    for (const operation of queue) {
      if (count === operationsPerTransaction || bytes > bytesPerTransaction) break;
      count++;
      if (operation.kind === 'commit') for (const put of operation.puts) bytes += put.value.length;
    }
    const batch = queue.slice(0, count);
    queue = queue.slice(count);
    return { batch, bytes };
  }

  function schedule(): void {
    if (draining || closed) return;
    draining = true;
    // After every message that has arrived by now: they all share the transaction.
    setImmediate(drain);
  }

  function scheduleLeases(): void {
    clearTimeout(leaseTimer);
    const waitMs = ledger.leases.nextEndMs();
    // While writes fail a due lease cannot end; it is tried again with every batch and when the fault is over.
    if (waitMs !== undefined)
      leaseTimer = setTimeout(schedule, Math.max(waitMs, fault === undefined ? 0 : 1000));
  }

  /** Small steps while nothing else waits: forgotten history out of the tables, free pages out of the file. */
  function maintain(): void {
    maintenanceTimer = undefined;
    const short = fault?.kind === 'full';
    if (closed || queue.length > 0 || (fault !== undefined && !short)) return;
    let more = false;
    const found = transact(() => {
      more = short ? ledger.sweep(keepWhenShort, sweepRowsWhenShort) : ledger.sweep(keep, sweepRowsPerStep);
      more = vacuum() || more;
    });
    if (found !== undefined) {
      setFault(found);
      if (found.kind === 'full' && !short) startShortage();
      return;
    }
    if (short || !more) tryCheckpoint();
    if (more) maintenanceTimer = setTimeout(maintain, maintenanceEveryMs);
  }

  function vacuum(): boolean {
    const free = Number(freePages.get()?.['freelist_count']);
    if (free < vacuumAbovePages) return false;
    db.exec(`PRAGMA incremental_vacuum(${vacuumPagesPerStep})`);
    pagesSinceCheckpoint += vacuumPagesPerStep;
    return true;
  }

  if (!ballast.fill()) {
    fault = describeFault(
      Object.assign(new Error('no space for the reserve'), { code: 'ENOSPC' }),
      files.database,
      files.dir,
    );
    startShortage();
  }
  scheduleLeases();
  post({ kind: 'ready', head: ledger.meta.head, problem: fault?.message });

  return {
    enqueue(operations) {
      for (const operation of operations) queue.push(operation);
      schedule();
    },
    close() {
      while (queue.length > 0) {
        const { batch } = takeBatch();
        post({ kind: 'answers', wire: run(batch), transactions });
      }
      closed = true;
      clearTimeout(leaseTimer);
      clearTimeout(maintenanceTimer);
      clearInterval(probeTimer);
      db.close();
      post({ kind: 'closed' });
    },
  };
}
