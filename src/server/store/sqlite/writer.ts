import { DatabaseSync } from 'node:sqlite';
import { describeFault } from './fault.ts';
import { storeFiles } from './files.ts';
import { prepareWriter } from './layout.ts';
import { createLedger, type Ledger, rowsOf, wholeBelowRows } from './ledger.ts';
import {
  type FromWriter,
  type WriterOperation,
  pushUnavailable,
  type FlatList,
  type WriterOptions,
} from './protocol.ts';
import { Brake, emptyPack, packOf } from './row-packs.ts';
import { keepPages, NO_SEAL, voidHotSeal } from './schema.ts';
import { createShortage } from './shortage.ts';
import { busyTimeoutMs, createTransactions } from './transactions.ts';
import { createVerification } from './verification.ts';
import { type HotReader, isHotWhole, verifyContent } from './verify.ts';
import { verifyWal } from './wal-check.ts';

export interface Writer {
  /** `alone`: nothing that could share their transaction is on its way. */
  enqueue(operations: readonly WriterOperation[], alone?: boolean): void;
  /** Reads from now on, between writes, what has not been proved yet. */
  verify(): void;
  close(): void;
}

const operationsPerTransaction = 1024;
/** What waits is stored in steps, so that who asked for the first of it decides what comes next meanwhile, and a request waits for one of them. */
const bytesPerTransaction = 512 * 1024;
const sweptRowsPerStep = 256;
// Folding the log back may grow the database by as much, which must fit into the ballast when the disk is full.
const checkpointAbovePages = 1000;
const idleCheckpointAbovePages = 500;
const maintenanceEveryMs = 20;
/** Without a write for so long the log is folded back early; between writes that follow one another it would only hold them up. */
const idleAfterMs = 100;
const retryFailedMs = 1000;
/** What must leave no trace waits this long for a pause between writes, then it is removed beside them. */
const eraseWithinMs = 1000;
/** Between two steps of a verification, where nothing else is to be done. */
const verifyEveryMs = 1;
/** Timers cannot be set much further ahead. */
const longestTimerMs = 24 * 60 * 60 * 1000;

/**
 * Proves what is served at once: the hot rows by their seal, where there is one, else everything. True: nothing is left to be proved.
 * Throws when the file is damaged.
 */
function verifyOpened(
  db: DatabaseSync,
  ledger: Ledger,
  { readAhead, taken }: Pick<WriterOptions, 'readAhead' | 'taken'>,
  post: (message: FromWriter, moved?: readonly ArrayBuffer[]) => void,
): boolean {
  const { hotCount, hotMix, head } = ledger.meta;
  const isSealed = rowsOf(ledger.meta) >= wholeBelowRows && hotCount !== NO_SEAL;
  const isReadAhead = isSealed && readAhead;
  post({ kind: 'opened', readAhead: isReadAhead });
  let isRead = false;
  const brake = new Brake(taken);
  const reader: HotReader = {
    onRows: (rows) => {
      const { length } = rows.values;
      post({ kind: 'rows', pack: packOf(rows, head), whole: false }, [rows.values.buffer]);
      brake.add(length);
    },
    onAll: () => {
      isRead = true;
      post({ kind: 'rows', pack: emptyPack(head), whole: false });
      post({ kind: 'rows', whole: true });
    },
  };
  if (isSealed && isHotWhole(db, { count: hotCount, mix: hotMix }, isReadAhead ? reader : undefined))
    return false;
  if (isReadAhead && !isRead) post({ kind: 'rows', whole: false });
  ledger.proved(verifyContent(db, ledger.meta));
  return true;
}

/**
 * The only writer of the database. Everything that has queued while one transaction was being synced shares the next:
 * each commit is judged against the state that its predecessors in the transaction left, and gets its own revision.
 */
export function openWriter(
  options: WriterOptions,
  post: (message: FromWriter, moved?: readonly ArrayBuffer[]) => void,
): Writer {
  const files = storeFiles(options.dir);
  verifyWal(`${files.database}-wal`);
  const db = new DatabaseSync(files.database, { timeout: busyTimeoutMs });
  prepareWriter(db);
  const ledger = createLedger(db);
  let isVerified = verifyOpened(db, ledger, options, post);
  keepPages(db);
  const transactions = createTransactions(db, ledger, files, (fault) =>
    post({ kind: 'problem', damaged: fault?.kind === 'damaged', problem: fault?.message }),
  );
  const shortage = createShortage(ledger, transactions, files, options.ballastBytes, () => {
    planMaintenance(maintenanceEveryMs);
    planLeases();
  });

  const keep = { revisions: options.keepRevisions, bytes: options.keepBytes };
  const verification = createVerification(files);
  let queue: WriterOperation[] = [];
  let draining = false;
  let closed = false;
  let lastWriteMs = 0;
  let erasingSinceMs: number | undefined;
  let leaseTimer: NodeJS.Timeout | undefined;
  let maintenanceTimer: NodeJS.Timeout | undefined;
  let verifyTimer: NodeJS.Timeout | undefined;
  let mayVerify = false;

  function run(batch: readonly WriterOperation[]): FlatList {
    const { fault } = transactions;
    if (fault?.kind === 'full') return shortage.run(batch);
    const wire: FlatList = [];
    const found = fault?.kind === 'damaged' ? fault : transactions.run(() => applyAll(batch, wire));
    transactions.fault = found;
    if (found === undefined) return wire;
    if (found.kind === 'damaged' && fault?.kind !== 'damaged') voidSeal();
    if (found.kind === 'full') {
      shortage.start(found);
      return shortage.run(batch);
    }
    wire.length = 0;
    for (let i = 0; i < batch.length; i++) pushUnavailable(wire, found);
    return wire;
  }

  function applyAll(batch: readonly WriterOperation[], wire: FlatList): void {
    ledger.expire(wire);
    const rows = ledger.meta.logCount;
    for (const operation of batch) ledger.apply(operation, wire);
    ledger.sweep(keep, Math.max(sweptRowsPerStep, 2 * (ledger.meta.logCount - rows)));
  }

  function verifyMore(): void {
    verifyTimer = undefined;
    if (closed || isVerified) return;
    // Maintenance begins it again.
    const { isInTheWay } = verification;
    if (transactions.fault !== undefined || ledger.erasing || isInTheWay) {
      verification.stop();
      // As long as its file is large it would be in the way again at once.
      if (isInTheWay) transactions.truncate();
      planMaintenance(retryFailedMs);
      return;
    }
    try {
      isVerified = verification.step();
    } catch (error) {
      const found = describeFault(error, files.database, files.dir);
      verification.stop();
      if (found.kind === 'damaged') {
        transactions.fault = found;
        voidSeal();
      } else planMaintenance(retryFailedMs);
      return;
    }
    if (isVerified) post({ kind: 'verified' });
    else planVerification();
  }

  /** Nothing is written from now on: the next start finds it so. */
  function voidSeal(): void {
    try {
      voidHotSeal(db);
    } catch (error) {
      const { message } = describeFault(error, files.database, files.dir);
      post({ kind: 'problem', damaged: true, problem: `${transactions.fault?.message}; ${message}` });
    }
  }

  function planVerification(): void {
    if (!closed && mayVerify && !isVerified) verifyTimer ??= setTimeout(verifyMore, verifyEveryMs);
  }

  function drain(): void {
    draining = false;
    if (closed) return;
    const { batch, bytes } = takeBatch();
    post({ kind: 'answers', wire: run(batch), transactions: transactions.count });
    transactions.addPages(3 * batch.length + Math.ceil((3 * bytes) / 4096));
    transactions.checkpoint(checkpointAbovePages);
    lastWriteMs = performance.now();
    planLeases();
    if (ledger.erasing && transactions.fault === undefined) eraseUnderLoad();
    if (queue.length > 0) schedule();
    else planMaintenance(transactions.fault?.kind === 'failed' ? retryFailedMs : maintenanceEveryMs);
  }

  function takeBatch(): { batch: WriterOperation[]; bytes: number } {
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

  function planLeases(): void {
    clearTimeout(leaseTimer);
    const waitMs = ledger.leases.nextEndMs();
    if (waitMs === undefined) return;
    // While writes fail a due lease cannot end: it is tried again, at leisure.
    const soonestMs = transactions.fault === undefined ? 0 : retryFailedMs;
    leaseTimer = setTimeout(schedule, Math.min(Math.max(waitMs, soonestMs), longestTimerMs));
  }

  /** Without a pause between writes maintenance would never come to it. */
  function eraseUnderLoad(): void {
    erasingSinceMs ??= performance.now();
    if (performance.now() - erasingSinceMs < eraseWithinMs) return;
    reclaim();
  }

  function planMaintenance(afterMs: number): void {
    if (!closed) maintenanceTimer ??= setTimeout(maintain, afterMs);
  }

  /** Small steps while nothing else waits: forgotten history out of the tables, free pages out of the file. */
  function maintain(): void {
    maintenanceTimer = undefined;
    const kind = transactions.fault?.kind;
    if (closed || queue.length > 0 || kind === 'damaged') return;
    const more = kind === 'full' ? shortage.reclaim() : reclaim();
    if (more) planMaintenance(maintenanceEveryMs);
  }

  function reclaim(): boolean {
    let more = false;
    const found = transactions.run(() => {
      // After a failure this is the proof that writing works again.
      if (transactions.fault !== undefined) ledger.touch();
      more = ledger.sweep(keep, sweptRowsPerStep);
      more = transactions.vacuum(ledger.erasing) || more;
    });
    transactions.fault = found;
    if (found?.kind === 'full') shortage.start(found);
    if (found?.kind === 'failed') planMaintenance(retryFailedMs);
    if (found !== undefined) return false;
    if (more) {
      // Pages that a large file gives back go through the log one by one.
      transactions.checkpoint(checkpointAbovePages);
      return true;
    }
    if (ledger.erasing) {
      verification.stop();
      if (!transactions.truncate()) planMaintenance(retryFailedMs);
      else {
        ledger.erased();
        erasingSinceMs = undefined;
      }
    }
    if (!ledger.erasing) planVerification();
    const isIdle = performance.now() - lastWriteMs >= idleAfterMs;
    if (isIdle) transactions.checkpoint(idleCheckpointAbovePages);
    else planMaintenance(idleAfterMs);
    return false;
  }

  planLeases();
  planMaintenance(maintenanceEveryMs);
  post({ kind: 'ready', head: ledger.meta.head, problem: transactions.fault?.message });
  if (isVerified) post({ kind: 'verified' });

  return {
    enqueue(operations, alone = false) {
      for (const operation of operations) queue.push(operation);
      if (alone && !draining && !closed) drain();
      else schedule();
    },
    verify() {
      mayVerify = true;
      planVerification();
    },
    close() {
      while (queue.length > 0) {
        post({ kind: 'answers', wire: run(takeBatch().batch), transactions: transactions.count });
      }
      closed = true;
      clearTimeout(leaseTimer);
      clearTimeout(maintenanceTimer);
      clearTimeout(verifyTimer);
      verification.stop();
      shortage.stop();
      db.close();
      post({ kind: 'closed' });
    },
  };
}
