import type { Clock } from '../clock.ts';

/** A wall clock that is off by more was set, and not by a few ticks. */
const SET_MS = 3_600_000;

interface Begun {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

const begun = new WeakMap<Clock, Begun>();

/**
 * The time by which nodes' credentials end: the wall clock, unless it was set while this process runs. A clock that jumps by a year must
 * not shut every node out.
 */
export function steadyMs(clock: Clock): number {
  const wallMs = clock.now().getTime();
  const monotonicMs = clock.monotonicMs();
  const first = begun.get(clock);
  if (first === undefined) {
    begun.set(clock, { wallMs, monotonicMs });
    return wallMs;
  }
  const countedMs = first.wallMs + (monotonicMs - first.monotonicMs);
  return Math.abs(wallMs - countedMs) < SET_MS ? wallMs : countedMs;
}
