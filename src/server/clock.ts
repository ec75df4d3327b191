import { performance } from 'node:perf_hooks';

/** Wall time is for people and for token expiry; every decision about silence or progress uses the monotonic clock. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
}

let lastMs = Number.NaN;
let lastText = '';

/** What is stored of one change is of the same moment most of the time, and writing a time out costs more than reading the clock. */
export function timeText(clock: Pick<Clock, 'now'>): string {
  const now = clock.now();
  const ms = now.getTime();
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = now.toISOString();
  }
  return lastText;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};
