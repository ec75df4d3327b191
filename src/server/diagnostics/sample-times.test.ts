import { expect, it } from 'vitest';
import { sampleTimes } from './sample-times.ts';

it.each([
  [0, [0]],
  [500, [0, 500]],
  [1000, [0, 1000]],
  [1500, [0, 1000, 1500]],
  [2000, [0, 1000, 2000]],
  [60_000, [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]],
])(
  'a report of %i ms has the first sample, the last, and no more than one a second between them',
  (forMs, times) => {
    expect(sampleTimes(forMs)).toEqual(times);
  },
);

it('has seven samples at most, whatever its length divides to', () => {
  for (const forMs of [6001, 7000, 11_111, 61_000]) expect(sampleTimes(forMs)).toHaveLength(7);
});
