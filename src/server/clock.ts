import { performance } from 'node:perf_hooks';

/** Wall time is for people and for token expiry; every decision about silence or progress uses the monotonic clock. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};
