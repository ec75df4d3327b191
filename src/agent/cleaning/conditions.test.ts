import { expect, it } from 'vitest';
import type { NodeCondition } from '../../core/model/node.ts';
import { conditionsOf, readMachine } from './conditions.ts';

const disk = (percent: number) => ({ kind: 'disk', percent, what: 'the disk' }) as const;
const FULL: readonly NodeCondition[] = [{ kind: 'disk', message: 'full' }];

it.each([
  [94.9, [], 0],
  [95, [], 1],
  [90, FULL, 1],
  [89.9, FULL, 0],
] as const)('%f %% after %j: %i', (percent, before, count) => {
  expect(conditionsOf([disk(percent)], before)).toHaveLength(count);
});

it('says the same while it stays about the same', () => {
  const [first] = conditionsOf([disk(95.2)], []);
  const [second] = conditionsOf([disk(97.9)], first === undefined ? [] : [first]);
  expect(first?.message).toContain('95 % or more');
  expect(second).toEqual(first);
  expect(conditionsOf([disk(100)], [])[0]?.message).toMatch(/^the disk is full, and nothing new/);
});

it('reads this machine', async () => {
  const readings = await readMachine();
  expect(readings.map(({ kind }) => kind)).toEqual(['memory', 'pids']);
  for (const { percent } of readings) expect(percent).toBeGreaterThan(0);
  for (const { percent } of readings) expect(percent).toBeLessThan(100);
});

it('is not told while much is left of a large disk', () => {
  expect(conditionsOf([{ ...disk(97), freeBytes: 60 * 1024 ** 3 }], FULL)).toEqual([]);
  expect(conditionsOf([{ ...disk(97), freeBytes: 6 * 1024 ** 3 }], [])).toHaveLength(1);
});
