import { expect, it } from 'vitest';
import { steadyMs } from './steady-time.ts';

const HOUR = 3_600_000;

it('a clock that is set while the process runs is not followed; small corrections are', () => {
  let wall = Date.parse('2026-01-01T00:00:00Z');
  let monotonic = 5;
  const clock = { now: () => new Date(wall), monotonicMs: () => monotonic };
  const start = steadyMs(clock);
  const pass = (ms: number): void => {
    wall += ms;
    monotonic += ms;
  };
  pass(24 * HOUR);
  wall += 60_000;
  expect(steadyMs(clock)).toBe(start + 24 * HOUR + 60_000);
  wall += 365 * 24 * HOUR;
  expect(steadyMs(clock)).toBe(start + 24 * HOUR);
  wall -= 800 * 24 * HOUR;
  pass(HOUR);
  expect(steadyMs(clock)).toBe(start + 25 * HOUR);
});
