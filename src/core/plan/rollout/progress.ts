import type { DeploymentRecord, UpdatePolicy } from '../../model/deployment.ts';
import { parseDuration } from '../../model/quantity.ts';
import type { ProgressMemory } from './memory.ts';
import type { Groups } from './rollout.ts';

export const DEFAULT_PROGRESS_DEADLINE_MS = 600_000;

export function progressDeadlineMs(policy: UpdatePolicy | undefined): number {
  const stated = policy?.progressDeadline === undefined ? undefined : parseDuration(policy.progressDeadline);
  return stated ?? DEFAULT_PROGRESS_DEADLINE_MS;
}

/** Every wanted instance of the current spec is healthy, and no other one serves. */
export function isComplete(groups: Groups, desired: number): boolean {
  return (
    groups.keep.length === desired &&
    groups.keep.every((state) => state.healthy) &&
    groups.leave.length === 0 &&
    groups.lost.length === 0
  );
}

export interface Progress {
  readonly memory: ProgressMemory;
  readonly deadlineMs: number;
  /** Infinite while no time is counted. */
  readonly leftMs: number;
}

/**
 * The time restarts with each instance that becomes available or is given up, and with each new spec. Time spent at a closed gate,
 * or before anything could be placed at all, is not time without progress of the rollout.
 */
export function judgeProgress(
  before: ProgressMemory | undefined,
  { spec, specHash }: Pick<DeploymentRecord, 'spec' | 'specHash'>,
  groups: Groups,
  gated: boolean,
  nowMs: number,
): Progress {
  const { keep, leave, lost } = groups;
  const { replicas } = spec;
  const score = keep.filter((state) => state.available).length - leave.length - lost.length;
  const deadlineMs = progressDeadlineMs(spec.update);
  const isIdle = gated || keep.length + leave.length === 0;
  const isNew =
    isIdle || before?.specHash !== specHash || before.replicas !== replicas || score > before.score;
  const memory = isNew ? { specHash, replicas, score, sinceMs: nowMs } : before;
  return {
    memory,
    deadlineMs,
    leftMs: isIdle ? Number.POSITIVE_INFINITY : memory.sinceMs + deadlineMs - nowMs,
  };
}
