import { expect, it } from 'vitest';
import { redialMs } from '../../../agent/session/redial.ts';
import { AcceptRate, acceptsPerSecond } from './accept-rate.ts';

function at(ms: { now: number }, perSecond: number): AcceptRate {
  return new AcceptRate(() => perSecond, { now: () => new Date(0), monotonicMs: () => ms.now });
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

/** Seconds until the agents of a control plane that was killed, and was back after 700 ms, have their sessions; as they redial. */
function allBack(agents: number, perSecond: number): number {
  const time = { now: 0 };
  const rate = at(time, perSecond);
  let seed = 1;
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const dials = new Map<number, number[]>();
  const dial = (ms: number, rounds: number): void => {
    const due = Math.max(time.now + 1, Math.round(time.now + ms));
    dials.set(due, [...(dials.get(due) ?? []), rounds]);
  };
  for (let agent = 0; agent < agents; agent += 1) dial(redialMs({}, 1, random), 1);
  let left = agents;
  for (time.now = 0; left > 0; time.now += 1) {
    for (const rounds of dials.get(time.now) ?? []) {
      const wait = time.now < 700 ? 'down' : rate.retryAfterSeconds();
      if (wait === undefined) left -= 1;
      else if (wait === 'down') dial(redialMs({ refused: true }, rounds + 1, random), rounds + 1);
      else dial(redialMs({ retryMs: wait * 1000, queued: true }, rounds, random), rounds);
    }
    dials.delete(time.now);
  }
  return time.now / 1000;
}

it('has all agents back before their silence counts, however many there are', () => {
  expect(acceptsPerSecond(50, 100, 30_000)).toBe(50);
  expect(acceptsPerSecond(50, 10_000, 30_000)).toBe(500);
  expect(allBack(100, acceptsPerSecond(50, 100, 30_000))).toBeLessThan(4);
  expect(allBack(2_000, acceptsPerSecond(50, 2_000, 30_000))).toBeLessThan(30);
  // With what suits a few nodes, thousands would be replaced meanwhile.
  expect(allBack(2_000, 50)).toBeGreaterThan(30);
});
