import { fullFault, type StoreFault } from './fault.ts';
import type { StoreFiles } from './files.ts';
import type { Ledger } from './ledger.ts';
import { type WriterOperation, pushUnavailable, type FlatList } from './protocol.ts';
import { createBallast } from './space.ts';
import type { Transactions } from './transactions.ts';

// On a full disk history is worth less than the space it takes, and the log of writes must stay inside the reserve.
const keptHistory = { revisions: 100, bytes: 1024 * 1024 };
const sweptRows = 64;
const checkpointAbovePages = 128;
const probeEveryMs = 500;

/** What the writer does while the disk is full, until the reserve can be held again. */
export interface Shortage {
  start(fault: StoreFault): void;
  /** Carries out what gives back space, refuses the rest; returns the answers. */
  run(batch: readonly WriterOperation[]): FlatList;
  /** One step of giving up history; true when there is more to give up. */
  reclaim(): boolean;
  stop(): void;
}

export function createShortage(
  ledger: Ledger,
  transactions: Transactions,
  files: StoreFiles,
  ballastBytes: number,
  onProbe: () => void,
): Shortage {
  const ballast = createBallast(files.ballast, files.dir, ballastBytes);
  let probe: NodeJS.Timeout | undefined;

  function end(): void {
    if (ballast.fill()) {
      clearInterval(probe);
      probe = undefined;
      if (transactions.fault?.kind === 'full') transactions.fault = undefined;
    }
    onProbe();
  }

  function start(fault: StoreFault): void {
    transactions.fault = fault;
    ballast.release();
    transactions.checkpoint(0);
    probe ??= setInterval(end, probeEveryMs);
  }

  function apply(operation: WriterOperation, wire: FlatList): StoreFault | undefined {
    let isRefused = false;
    const found = transactions.run(() => {
      isRefused = operation.kind === 'grant' || (operation.kind === 'commit' && !ledger.frees(operation));
      if (isRefused) return;
      ledger.apply(operation, wire);
      ledger.sweep(keptHistory, sweptRows);
    });
    transactions.checkpoint(checkpointAbovePages);
    return found ?? (isRefused ? fullFault(files.dir) : undefined);
  }

  if (!ballast.fill()) start(fullFault(files.dir));

  return {
    start,
    run(batch) {
      const wire: FlatList = [];
      if (transactions.run(() => ledger.expire(wire)) !== undefined) wire.length = 0;
      // One by one, so that one too many fails alone.
      for (const operation of batch) {
        const mark = wire.length;
        let found = apply(operation, wire);
        if (found?.kind === 'full' && wire.length > mark) {
          wire.length = mark;
          transactions.checkpoint(0);
          found = apply(operation, wire);
        }
        if (found === undefined) continue;
        wire.length = mark;
        pushUnavailable(wire, found);
        if (found.kind === 'damaged') transactions.fault = found;
      }
      return wire;
    },
    reclaim() {
      let more = false;
      const found = transactions.run(() => {
        more = ledger.sweep(keptHistory, sweptRows);
        more = transactions.vacuum(false) || more;
      });
      transactions.checkpoint(0);
      if (found?.kind === 'damaged') transactions.fault = found;
      return found === undefined && more;
    },
    stop() {
      clearInterval(probe);
    },
  };
}
