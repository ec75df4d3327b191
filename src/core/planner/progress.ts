import type { UpdatePolicy } from '../model/deployment.ts';
import { parseDuration } from '../model/quantity.ts';
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

/** The time starts anew with each instance that becomes available or is given up, and with each new wish. */
export function noteProgress(
  before: ProgressMemory | undefined,
  key: string,
  groups: Groups,
  nowMs: number,
): ProgressMemory {
  const available = groups.keep.filter((state) => state.available).length;
  const score = available - groups.leave.length - groups.lost.length;
  if (before?.key === key && score <= before.score) return before;
  return { key, score, sinceMs: nowMs };
}
