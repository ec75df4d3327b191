import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Fold, FINE } from './columns.ts';
import { Ring } from './ring.ts';
import { coarser } from './window.ts';

/** Of figures. */
type FigureFold = Exclude<Fold, 'either'>;
const FOLDS: readonly FigureFold[] = ['mean', 'max', 'min', 'sum'];
const LEVEL = { stepMs: 1000, length: 8 };

function expected(fold: FigureFold, values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  switch (fold) {
    case 'mean':
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    case 'max':
      return Math.max(...values);
    case 'min':
      return Math.min(...values);
    case 'sum':
      return values.reduce((sum, value) => sum + value, 0);
  }
}

/** Figures are kept in 32 bits: seven digits. */
function expectNear(found: number, wanted: number): void {
  if (Number.isNaN(wanted)) expect(found).toBeNaN();
  else expect(Math.abs(found - wanted)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(wanted)));
}

const VALUE = fc.double({ min: 0, max: 1e12, noNaN: true });

describe('a ring of steps', () => {
  it('has the mean, the most, the least and the sum of what was said in each step, and gaps elsewhere', () => {
    const sample = fc.record({
      afterMs: fc.integer({ min: 0, max: 5000 }),
      value: fc.option(VALUE, { nil: Number.NaN }),
    });
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 60 }), (samples) => {
        const ring = new Ring(LEVEL, FOLDS);
        let atMs = 1_000_000;
        const said = new Map<number, number[]>();
        for (const { afterMs, value } of samples) {
          atMs += afterMs;
          ring.add(
            atMs,
            FOLDS.map(() => value),
          );
          const step = Math.floor(atMs / LEVEL.stepMs);
          said.set(step, [...(said.get(step) ?? []), ...(Number.isNaN(value) ? [] : [value])]);
        }
        const newest = Math.floor(atMs / LEVEL.stepMs);
        const from = newest - 2 * LEVEL.length;
        for (const [at, column] of ring.read(from, newest + 2).entries())
          for (const [index, found] of column.entries()) {
            const step = from + index;
            const isKept = step > newest - LEVEL.length && step <= newest;
            expectNear(found, expected(FOLDS[at] ?? 'mean', isKept ? (said.get(step) ?? []) : []));
          }
      }),
    );
  });

  it('keeps the mean and the most when equally filled steps become longer ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(VALUE, { minLength: 3, maxLength: 3 }), { minLength: 1, maxLength: 10 }),
        (steps) => {
          for (const fold of FOLDS) {
            const each = steps.map((values) => coarser(fold, values));
            expectNear(coarser(fold, each), expected(fold, steps.flat()));
          }
        },
      ),
    );
    expect(coarser('mean', [Number.NaN, 4, Number.NaN, 2])).toBe(3);
    expect(coarser('sum', [Number.NaN, Number.NaN])).toBeNaN();
  });

  it('drops what a clock had shown that went back, and goes on', () => {
    const ring = new Ring(LEVEL, ['sum']);
    for (const step of [10, 11, 12, 13]) ring.add(step * 1000, [step]);
    ring.add(11_500, [5]);
    expect(ring.read(10, 13)).toEqual([[10, 5, Number.NaN, Number.NaN]]);
    ring.add(13_000, [7]);
    expect(ring.read(10, 13)).toEqual([[10, 5, Number.NaN, 7]]);
    // By more than it holds.
    ring.add(1000, [1]);
    expect(ring.read(0, 3)).toEqual([[Number.NaN, 1, Number.NaN, Number.NaN]]);
    ring.add(1_000_000, [2]);
    expect(ring.read(998, 1000)).toEqual([[Number.NaN, Number.NaN, 2]]);
  });

  it('is the same after it was written down, in the middle of a step', () => {
    const ring = new Ring(FINE, ['mean', 'sum']);
    ring.add(30_000, [2, 2]);
    const copy = new Ring(FINE, ['mean', 'sum']);
    copy.restore(ring.saved());
    for (const one of [ring, copy]) one.add(31_000, [4, 4]);
    expect(copy.read(1, 1)).toEqual([[3], [6]]);
    expect(copy.read(0, 2)).toEqual(ring.read(0, 2));
    const other = new Ring(FINE, ['mean']);
    other.restore(ring.saved());
    expect(other.read(1, 1)).toEqual([[Number.NaN]]);
  });

  it('reads the same from a copy, whatever was said, and goes on the same', () => {
    const sample = fc.record({
      afterMs: fc.integer({ min: -9000, max: 12_000 }),
      values: fc.array(fc.option(VALUE, { nil: Number.NaN }), { minLength: 4, maxLength: 4 }),
    });
    const level = { stepMs: 1000, length: 20 };
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 40 }), fc.nat(40), (samples, written) => {
        let ring = new Ring(level, FOLDS);
        const kept = new Ring(level, FOLDS);
        let atMs = 1_000_000;
        for (const [at, { afterMs, values }] of samples.entries()) {
          atMs += afterMs;
          ring.add(atMs, values);
          kept.add(atMs, values);
          if (at !== written) continue;
          const copy = new Ring(level, FOLDS);
          copy.restore(ring.saved());
          ring = copy;
        }
        const newest = Math.floor(atMs / level.stepMs);
        expect(ring.newest).toBe(kept.newest);
        expect(ring.read(newest - 30, newest + 15)).toEqual(kept.read(newest - 30, newest + 15));
      }),
    );
  });

  it('takes little before there is much to keep', () => {
    const ring = new Ring(FINE, ['min', 'max', 'sum']);
    for (let step = 1; step <= 6; step += 1) ring.add(step * FINE.stepMs, [Number.NaN, Number.NaN, step]);
    expect(ring.bytes).toBe(4 * 8);
    for (let step = 7; step <= 300; step += 1) ring.add(step * FINE.stepMs, [Number.NaN, Number.NaN, step]);
    expect(ring.bytes).toBe(4 * FINE.length);
    ring.add(300 * FINE.stepMs, [1, Number.NaN, Number.NaN]);
    expect(ring.bytes).toBe(4 * FINE.length * 3);
    expect(ring.read(299, 300)).toEqual([
      [Number.NaN, 1],
      [Number.NaN, Number.NaN],
      [299, 300],
    ]);
  });
});
