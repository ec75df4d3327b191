import { type Commit, type CommitResult, type Kv, KvUnavailableError } from '../../../src/server/store/kv.ts';
import type { Dice } from '../openapi-fuzz.ts';
import type { CrashSide } from './crasher.ts';

/** Shares of commits that go wrong. */
export interface StoreTrouble {
  readonly conflict: number;
  readonly refused: number;
  /** Stored, but the answer is lost. */
  readonly unanswered: number;
}

export const NO_TROUBLE: StoreTrouble = { conflict: 0, refused: 0, unanswered: 0 };

export interface FaultyKvOptions {
  readonly kv: Kv;
  readonly dice: Dice;
  readonly trouble: () => StoreTrouble;
  /** Turns of the event loop by which changes are heard late. */
  readonly lateTurns: number;
  /** Around each commit, with the facts that it was decided from still in place. */
  readonly onCommit: (commit: Commit) => (result: CommitResult) => void;
  /** The process has just died, before or after this commit arrived at the store. */
  readonly crashes: () => CrashSide | undefined;
  readonly onLate: (pending: 1 | -1) => void;
}

/** The way of one control plane to the store they share; after `cut` nothing of it arrives any more. */
export class FaultyKv {
  readonly kv: Kv;
  #cut = false;

  constructor({ kv, dice, trouble, lateTurns, onCommit, crashes, onLate }: FaultyKvOptions) {
    const commit = async (asked: Commit): Promise<CommitResult> => {
      if (this.#cut) throw new KvUnavailableError('killed', true);
      const { conflict, refused, unanswered } = trouble();
      const judge = onCommit(asked);
      const crash = crashes();
      if (crash !== undefined) {
        if (crash === 'after') judge(await kv.commit(asked));
        throw new KvUnavailableError('killed', crash === 'before');
      }
      const [guard] = asked.guards ?? [];
      if (guard !== undefined && dice.chance(conflict)) return { ok: false, failed: [guard.key] };
      if (dice.chance(refused)) throw new KvUnavailableError('no room', true);
      const result = await kv.commit(asked);
      judge(result);
      if (dice.chance(unanswered)) throw new KvUnavailableError('the answer was lost', false);
      return result;
    };
    const late = (turns: number, task: () => void): void => {
      setImmediate(() => (turns === 0 ? task() : late(turns - 1, task)));
    };
    const hearingLate: Kv['watch'] = (prefix, after, { onBatch, onLost }) =>
      kv.watch(prefix, after, {
        onBatch: (batch) => {
          onLate(1);
          late(lateTurns, () => {
            onLate(-1);
            onBatch(batch);
          });
        },
        onLost,
      });
    const watch: Kv['watch'] = lateTurns > 0 ? hearingLate : kv.watch;
    this.kv = { ...kv, commit, watch };
  }

  cut(): void {
    this.#cut = true;
  }
}
