import { isFailure } from '../../lib/event-kind.ts';
import type { Event } from '../../lib/records.ts';

export const ACTIVITY_HOURS = 24;
const STEP_S = 3600;

export interface Activity {
  /** Starts of the hours, in seconds since 1970. */
  readonly times: readonly number[];
  readonly changes: readonly number[];
  readonly failures: readonly number[];
}

/** Events per hour of the last day, those that tell of a failure apart. */
export function activityOf(events: readonly Pick<Event, 'at' | 'kind'>[], nowMs: number): Activity {
  const last = Math.floor(nowMs / 1000 / STEP_S) * STEP_S;
  const times = Array.from({ length: ACTIVITY_HOURS }, (_, at) => last - (ACTIVITY_HOURS - 1 - at) * STEP_S);
  const changes = times.map(() => 0);
  const failures = times.map(() => 0);
  for (const { at, kind } of events) {
    const hour = Math.floor((Date.parse(at) / 1000 - (times[0] ?? 0)) / STEP_S);
    const counts = isFailure(kind) ? failures : changes;
    const before = counts[hour];
    if (before !== undefined) counts[hour] = before + 1;
  }
  return { times, changes, failures };
}
