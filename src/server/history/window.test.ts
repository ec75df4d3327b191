import { describe, expect, it } from 'vitest';
import { COARSE, COLUMNS, FINE } from './columns.ts';
import { Series } from './series.ts';
import { figuresOf, windowOf } from './window.ts';

const HOUR = 3_600_000;
const NOON = 20_000 * 24 * HOUR + 12 * HOUR;

describe('a window of the history', () => {
  it('is fine for an hour and coarse for a day, in whole steps of what is asked for', () => {
    expect(windowOf(NOON, HOUR, undefined)).toEqual({
      level: FINE,
      from: NOON / 30_000 - 119,
      to: NOON / 30_000,
      every: 1,
    });
    const day = windowOf(NOON + 1, 24 * HOUR, undefined);
    expect([day.level, day.to - day.from + 1, day.every]).toEqual([COARSE, COARSE.length, 1]);
    const steps = windowOf(NOON, 6 * HOUR, 7 * 60_000);
    expect([steps.level, steps.every, steps.from % 2]).toEqual([COARSE, 2, 0]);
    // Finer than it is kept: as it is kept.
    expect(windowOf(NOON, 6 * HOUR, 1000).every).toBe(1);
  });

  it('adds up what several control planes measured, and leaves open what nobody did', () => {
    const [one, other] = [new Series(), new Series()];
    one.add('usage', NOON, [1, 2, 100, 200, Number.NaN, Number.NaN, 1]);
    one.add('state', NOON, [3, 3, 1]);
    other.add('usage', NOON, [0.5, 1, 10, 20, 7, 8, 1]);
    other.add('usage', NOON + 30_000, [4, 4, 4, 4, 4, 4, 1]);
    const window = windowOf(NOON + 60_000, 120_000, undefined);
    const parts = [one, other].map((series) => series.read(window.level, window.from, window.to));
    expect(figuresOf(window, parts)).toEqual({
      cpuCores: [null, 1.5, 4, null],
      cpuCoresMax: [null, 3, 4, null],
      memoryBytes: [null, 110, 4, null],
      memoryBytesMax: [null, 220, 4, null],
      receivedBytesPerSecond: [null, 7, 4, null],
      sentBytesPerSecond: [null, 8, 4, null],
      measured: [null, 2, 1, null],
      running: [null, 3, null, null],
      wanted: [null, 3, null, null],
      failures: [null, 1, null, null],
    });
    const longer = windowOf(NOON + 60_000, 120_000, 120_000);
    const whole = figuresOf(
      longer,
      [one, other].map((series) => series.read(longer.level, longer.from, longer.to)),
    );
    expect(whole.cpuCores).toEqual([null, 2.75]);
    expect(whole.cpuCoresMax).toEqual([null, 4]);
    expect(whole.failures).toEqual([null, 1]);
    expect(Object.keys(whole)).toEqual(COLUMNS.map(({ name }) => name));
  });
});
