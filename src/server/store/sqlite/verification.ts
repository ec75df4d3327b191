import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { StoreFiles } from './files.ts';
import { prepareRows } from './rows.ts';
import { decodeMeta, prepareReader, selectMeta } from './schema.ts';
import { verificationSteps } from './verify.ts';

/** How long a commit may have to wait for it. */
const stepMs = 3;
/** What is written meanwhile stays in the write-ahead log: at this size it ends and begins again in a pause. */
const mostWalBytes = 64 * 1024 * 1024;

/** Proves everything in the file while it is in use. It sees the file as it was when it began, on a connection of its own. */
export interface Verification {
  /** Goes on for a moment. True: everything is proved. Throws what is wrong. */
  step(): boolean;
  /** Ends it; the next step begins from the start. */
  stop(): void;
  /** It holds the write-ahead log, and too much has gathered there. */
  readonly isInTheWay: boolean;
}

export function createVerification(files: StoreFiles): Verification {
  let db: DatabaseSync | undefined;
  let steps: ReturnType<typeof verificationSteps> | undefined;

  function begin(): ReturnType<typeof verificationSteps> {
    db = new DatabaseSync(files.database, { readOnly: true, timeout: 5000 });
    prepareReader(db);
    db.exec('BEGIN');
    return verificationSteps(db, decodeMeta(prepareRows(db, selectMeta).get()));
  }

  function stop(): void {
    steps?.return({ count: 0, mix: 0 });
    steps = undefined;
    db?.close();
    db = undefined;
  }

  return {
    step() {
      const endMs = performance.now() + stepMs;
      steps ??= begin();
      while (steps.next().done !== true) if (performance.now() >= endMs) return false;
      stop();
      return true;
    },
    stop,
    get isInTheWay() {
      if (steps === undefined) return false;
      return (statSync(`${files.database}-wal`, { throwIfNoEntry: false })?.size ?? 0) > mostWalBytes;
    },
  };
}
