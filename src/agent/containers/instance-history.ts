import { type BackOff, backOffMs } from '../back-off.ts';
import type { InstanceStep } from './step.ts';

/** What the agent remembers of an instance beside its containers. Lost with the process, and never needed to be right. */
export interface InstanceHistory {
  readonly failure?: Failure;
  readonly resolvedAtMs?: number;
  readonly checkedAtMs?: number;
  /** Of a job's container: since when it runs. */
  readonly runningSinceMs?: number;
  /** Of a job's container: a look that is older must not lead to a second start. */
  readonly wasStarted?: boolean;
  /** Of a job's container: it was ended, it did not exit. */
  readonly wasEnded?: boolean;
  /** Since when it is to stop. */
  readonly stopOrderedAtMs?: number;
  /** Since when its container is unhealthy. */
  readonly unhealthySinceMs?: number;
  /** How often it was restarted without a session. */
  readonly aloneRestarts?: number;
  /** Ends of its containers, newest last. */
  readonly endings: readonly Ending[];
}

export interface Failure {
  readonly step: InstanceStep['kind'];
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly retryAtMs: number;
}

export interface Ending {
  readonly atMs: number;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}

export const NO_HISTORY: InstanceHistory = { endings: [] };

const KEPT_ENDINGS = 10;
const CRASH_LOOP_ENDINGS = 3;
const CRASH_LOOP_WINDOW_MS = 300_000;
const SETTLED_MS = 10_000;

export function withFailure(
  history: InstanceHistory,
  problem: Pick<Failure, 'step' | 'reason' | 'message'>,
  backOff: BackOff,
  nowMs: number,
): InstanceHistory {
  const same = history.failure?.step === problem.step;
  const count = same ? (history.failure?.count ?? 0) + 1 : 1;
  return { ...history, failure: { ...problem, count, retryAtMs: nowMs + backOffMs(count, backOff) } };
}

export function withoutFailure(history: InstanceHistory): InstanceHistory {
  const { failure, ...rest } = history;
  return failure === undefined ? history : rest;
}

export function withEnding(history: InstanceHistory, ending: Ending): InstanceHistory {
  return { ...history, endings: [...history.endings, ending].slice(-KEPT_ENDINGS) };
}

/** The engine waits up to a minute between restarts, so three ends in five minutes are a loop, whatever its pace. */
export function recentEndings(history: InstanceHistory, nowMs: number): readonly Ending[] {
  return history.endings.filter((ending) => nowMs - ending.atMs < CRASH_LOOP_WINDOW_MS);
}

/**
 * It is over when nothing ended for twice as long as the loop lasted, and some seconds: the pauses between restarts grow to about its length, so
 * the container has run longer than that. What it needs may have been away for a moment, and is there again.
 */
export function isCrashLoop(endings: readonly Ending[], nowMs: number): boolean {
  const [first, last] = [endings[0], endings.at(-1)];
  if (first === undefined || last === undefined || endings.length < CRASH_LOOP_ENDINGS) return false;
  return nowMs - last.atMs <= 2 * (last.atMs - first.atMs) + SETTLED_MS;
}

/** What was started again since has not shown yet that it stays. */
export function isFresh(ending: Ending | undefined, nowMs: number): boolean {
  return ending !== undefined && nowMs - ending.atMs <= SETTLED_MS;
}
