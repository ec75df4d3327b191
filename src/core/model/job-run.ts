import type { InstanceId, NodeName } from './ids.ts';
import type { HookDelivery } from './rotation-hook.ts';

export type EndState = 'Succeeded' | 'Failed' | 'Cancelled';
export type JobRunState = 'Pending' | 'Running' | 'Retrying' | EndState;

/** Of a run that somebody asked for. */
export type OrderTrigger = 'created' | 'manual' | 'hook';

export interface JobAttempt<Started extends boolean = boolean> {
  readonly instanceId: InstanceId;
  readonly nodeId: NodeName;
  /** Its container was seen to run. */
  readonly started: Started;
}

/** What the first attempt was begun with: the run keeps that to its end, whatever becomes of the job. */
export interface RunTerms {
  readonly specHash: string;
  readonly retries?: number;
  readonly timeout?: string;
}

/** How an attempt failed; what it printed is in its log. */
export interface FailedAttempt {
  readonly attempt: number;
  readonly at: string;
  readonly nodeId: NodeName;
  readonly instanceId: InstanceId;
  readonly reason?: string;
  readonly message: string;
  readonly exitCode?: number;
}

/** Of one run. */
const FAILURES_KEPT = 3;
const LONGEST_FAILURE = 400;

/** With one more: the newest stay. */
export function withFailedAttempt(
  before: readonly FailedAttempt[] = [],
  failed: FailedAttempt,
): readonly FailedAttempt[] {
  return [...before, { ...failed, message: failed.message.slice(0, LONGEST_FAILURE) }].slice(-FAILURES_KEPT);
}

interface Run {
  readonly id: string;
  /** Absent: nothing was begun yet, or before jobs could be changed. */
  readonly terms?: RunTerms;
  readonly trigger: OrderTrigger | 'schedule' | 'catch-up';
  /** Of scheduled runs: the slot. */
  readonly scheduledFor?: string;
  readonly hook?: HookDelivery;
  readonly message: string;
  readonly createdAt: string;
  /** When the command before it had succeeded. Absent: there is none, or it has yet to. */
  readonly preparedAt?: string;
  /** When the first attempt was seen to run. */
  readonly startedAt?: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** Of the last attempt that ended. */
  readonly exitCode?: number;
  readonly reason?: string;
  /** Of its attempts the newest that failed, oldest first; absent: none did. */
  readonly failures?: readonly FailedAttempt[];
  /** Slots of the schedule that passed while it ran. */
  readonly skipped?: number;
}

interface OfSomeStates {
  /** The newest attempt: the one under way while the run is not finished. */
  readonly attempt?: JobAttempt;
  readonly retryAt?: string;
  /** When the last attempt was seen to have ended. */
  readonly finishedAt?: string;
}

type RunIn<State extends JobRunState, Has extends OfSomeStates = object> = Run &
  Has & { readonly state: State } & { readonly [K in Exclude<keyof OfSomeStates, keyof Has>]?: never };

/** For a node. */
export type WaitingRun = RunIn<'Pending'>;
export type StartingRun = RunIn<'Pending', { readonly attempt: JobAttempt<false> }>;
export type RunningRun = RunIn<'Running', { readonly attempt: JobAttempt<true>; readonly startedAt: string }>;
export type RetryingRun = RunIn<'Retrying', { readonly retryAt: string }>;
/** `attempt` is absent where it was cancelled between attempts. */
export type EndedRun = RunIn<EndState, { readonly finishedAt: string; readonly attempt?: JobAttempt }>;
export type ActiveRun = WaitingRun | StartingRun | RunningRun | RetryingRun;
export type JobRun = ActiveRun | EndedRun;

/** As it is stored and answered: by type anything may stand beside anything. */
export interface StoredRun extends Run, OfSomeStates {
  readonly state: JobRunState;
}

type Runs<R> = { readonly runs: readonly R[] } | undefined;

export function isFinished<R extends { readonly state: JobRunState }>(
  run: R,
): run is R & { readonly state: EndState } {
  return run.state === 'Succeeded' || run.state === 'Failed' || run.state === 'Cancelled';
}

/** The run that is under way; at most the newest is. */
export function activeRun(status: Runs<JobRun>): ActiveRun | undefined;
export function activeRun(status: Runs<StoredRun>): StoredRun | undefined;
export function activeRun(status: Runs<StoredRun>): StoredRun | undefined {
  const last = status?.runs.at(-1);
  return last === undefined || isFinished(last) ? undefined : last;
}

/**
 * What a stored run is. An end stands as it is stored; before it, what a run has decides rather than its word: an attempt is followed,
 * a time to try again is waited for, and a run with neither waits for a node.
 */
export function runOf({ attempt, retryAt, finishedAt, ...stored }: StoredRun): JobRun {
  const { state: _word, ...run } = stored;
  const { startedAt = run.createdAt } = run;
  if (isFinished(stored))
    return { ...stored, finishedAt: finishedAt ?? startedAt, ...(attempt && { attempt }) };
  if (attempt?.started === true)
    return { ...run, state: 'Running', startedAt, attempt: { ...attempt, started: true } };
  if (attempt !== undefined) return { ...run, state: 'Pending', attempt: { ...attempt, started: false } };
  return retryAt === undefined ? { ...run, state: 'Pending' } : { ...run, state: 'Retrying', retryAt };
}
