import { expect, it } from 'vitest';
import { fairShare } from './fair-share.ts';

const of = (name: string, size: number) => ({
  of: Array.from({ length: size }, (_one, index) => `${name}${index}`),
  size,
});

it.each([
  ['all that there is', [of('a', 2), of('b', 1)], 10, ['a0', 'a1', 'b0'], 0],
  ['an equal share of each', [of('a', 100), of('b', 3), of('c', 0)], 4, ['a0', 'a1', 'b0', 'b1'], 99],
  ['no more than asked for', [of('a', 1), of('b', 1), of('c', 1)], 2, ['a0', 'b0'], 1],
  ['nothing of nobody', [], 2, [], 0],
])('takes %s', (_title, tenants, most, taken, leftOut) => {
  expect(fairShare(tenants, most)).toEqual({ taken, leftOut });
});
