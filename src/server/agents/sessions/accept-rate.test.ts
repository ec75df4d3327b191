import { expect, it } from 'vitest';
import { AcceptRate } from './accept-rate.ts';

function at(ms: { now: number }, perSecond: number): AcceptRate {
  return new AcceptRate(perSecond, { now: () => new Date(0), monotonicMs: () => ms.now });
}

it('accepts at most the given number in any second', () => {
  const time = { now: 0 };
  const rate = at(time, 5);
  const accepted: number[] = [];
  for (time.now = 0; time.now < 10_000; time.now += 7)
    if (rate.retryAfterSeconds() === undefined) accepted.push(time.now);
  for (const start of accepted)
    expect(accepted.filter((one) => one >= start && one < start + 1000).length).toBeLessThanOrEqual(5);
  expect(accepted.length).toBeGreaterThanOrEqual(48);
});

it('sends a herd away for longer the larger it is, and for 30 s at most', () => {
  const rate = at({ now: 0 }, 10);
  const waits = Array.from({ length: 1000 }, () => rate.retryAfterSeconds());
  expect(waits.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => undefined));
  expect(waits[10]).toBe(1);
  expect(waits[60]).toBe(6);
  expect(Math.max(...waits.map((wait) => wait ?? 0))).toBe(30);
});
