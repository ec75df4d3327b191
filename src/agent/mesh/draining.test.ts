import { describe, expect, it } from 'vitest';
import { DRAIN_MS, Draining, LONGEST_MS } from './draining.ts';

const service = (name: string, ...ids: readonly string[]) => ({
  name,
  instances: ids.map((id, at) => ({ id, node: 'n1', address: `10.210.0.${at + 2}` })),
});

function drained(): Draining {
  const draining = new Draining();
  draining.take([service('web', 'a', 'b')], 0);
  return draining;
}

describe('an instance that is to stop', () => {
  it('runs on until others know that it left', () => {
    const draining = drained();
    draining.take([service('web', 'b')], 10_000);
    expect(draining.untilMs('a', 9_900)).toBe(10_000 + DRAIN_MS);
  });

  it('does not wait for a map that does not come', () => {
    expect(drained().untilMs('a', 10_000)).toBe(10_000 + LONGEST_MS);
    const late = drained();
    late.take([service('web', 'b')], 12_500);
    expect(late.untilMs('a', 10_000)).toBe(10_000 + LONGEST_MS);
  });

  it('does not wait where no other takes its place, as one that stops before its successor starts', () => {
    const draining = drained();
    draining.take([service('web')], 10_000);
    expect(draining.untilMs('a', 9_990)).toBeLessThanOrEqual(10_000);
  });

  it('does not wait if it left long before, never was there, or its deployment is gone', () => {
    const draining = drained();
    draining.take([service('web', 'b')], 5_000);
    draining.take([service('web', 'b')], 9_000);
    for (const id of ['a', 'stranger']) expect(draining.untilMs(id, 10_000)).toBeLessThanOrEqual(10_000);
    draining.take([], 10_000);
    expect(draining.untilMs('b', 10_000)).toBeLessThanOrEqual(10_000);
  });

  it('waits after a restart of the agent, which does not know what left before', () => {
    const draining = new Draining();
    draining.begin(9_900);
    expect(draining.untilMs('a', 10_000)).toBe(9_900 + LONGEST_MS);
    draining.take([service('web', 'b')], 10_200);
    expect(draining.untilMs('a', 10_000)).toBe(10_200 + DRAIN_MS);
  });
});
