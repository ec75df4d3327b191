import { expect, it } from 'vitest';
import { dueSamples, sampleTimes } from './sample-times.ts';

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

it.each([
  ['in time', [10, 10, 10, 10, 10, 10, 10], [0, 1, 2, 3, 4, 5, 6], 60_010],
  ['one of them slow', [45_000, 10, 10, 10, 10, 10, 10], [0, 1, 2, 3, 4, 5, 6], 60_010],
  ['all of them slow', [50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000], [0, 1, 2, 6], 200_000],
])('samples are taken %s', async (_, lasting, taken, endMs) => {
  let nowMs = 5;
  const clock = { nowMs: () => nowMs, pause: async (ms: number) => void (nowMs += ms) };
  const counts: number[] = [];
  for await (const count of dueSamples(60_000, clock)) {
    counts.push(count);
    nowMs += lasting[count] ?? 0;
  }
  expect(counts).toEqual(taken);
  expect(nowMs - 5).toBe(endMs);
});
