import { describe, expect, it } from 'vitest';
import { COARSE, COLUMNS, FINE, USAGE } from './columns.ts';
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

  it.each([FINE, COARSE])('counts an agent once in a step of $stepMs ms in which it moved', (level) => {
    const usage = [1, 2, 10, 20, 5, 6, 1];
    const [left, joined, stays] = [new Series(), new Series(), new Series()];
    for (let at = 0; at < level.stepMs; at += 15_000) {
      const holds = at < level.stepMs / 2 ? left : joined;
      for (const series of [holds, stays]) series.add('usage', NOON + at, usage);
    }
    const window = windowOf(NOON + level.stepMs - 1, level === FINE ? 30_000 : 4 * HOUR, undefined);
    const read = (...all: readonly Series[]) =>
      figuresOf(
        window,
        all.map((series) => series.read(level, window.from, window.to)),
      );
    const measured = (figures: ReturnType<typeof read>) => USAGE.map(({ name }) => figures[name].at(-1));
    expect(measured(read(left, joined))).toEqual(usage);
    expect(measured(read(left))).toEqual(usage);
    expect(measured(read(left, joined, stays))).toEqual(usage.map((one) => 2 * one));
  });

  it('takes a control plane that does not say when it measured for one that measured all the time', () => {
    const [here, older] = [new Series(), new Series()];
    for (const at of [NOON, NOON + 15_000]) here.add('usage', at, [1, 1, 1, 1, 1, 1, 1]);
    older.add('usage', NOON, [2, 2, 2, 2, 2, 2, 1]);
    const window = windowOf(NOON, 30_000, undefined);
    const parts = [here, older].map((series) => series.read(window.level, window.from, window.to));
    const said = parts[1]?.slice(0, COLUMNS.length) ?? [];
    expect(figuresOf(window, [parts[0] ?? [], said]).cpuCores).toEqual([3]);
  });
});
