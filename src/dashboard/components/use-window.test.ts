import { describe, expect, it } from 'vitest';
import { placesOf, rowWindow } from './use-window.ts';

describe('the window of a long list', () => {
  it('draws a few of thousands', () => {
    const { first, last } = rowWindow(100_000, 800, 44, 5000);
    expect(first).toBeLessThanOrEqual(100_000 / 44);
    expect(last).toBeGreaterThanOrEqual(100_800 / 44);
    expect(last - first).toBeLessThan(60);
  });
  it('keeps the height of the whole', () => {
    for (const scrolled of [0, 44, 5000, 219_000, 500_000]) {
      const { first, last, above, below } = rowWindow(scrolled, 800, 44, 5000);
      expect(above + (last - first) * 44 + below).toBe(5000 * 44);
    }
  });
  it('draws the end of a list that became shorter than it was scrolled', () => {
    expect(rowWindow(42_000, 800, 44, 3)).toEqual({ first: 0, last: 3, above: 0, below: 0 });
    const { first, last } = rowWindow(42_000, 800, 44, 100);
    expect(last).toBe(100);
    expect((last - first) * 44).toBeGreaterThanOrEqual(800);
  });
  it('draws all of a short list', () =>
    expect(rowWindow(0, 800, 44, 3)).toEqual({ first: 0, last: 3, above: 0, below: 0 }));
});

describe('places of a table that is drawn over', () => {
  const places = (before: ReadonlyMap<string, number>, inView: string) => placesOf(before, inView.split(''));
  it('stay with the records that stay, and go to others when theirs have left', () => {
    const first = places(new Map(), 'abcd');
    expect([...first]).toEqual([...'abcd'].map((key, at) => [key, at]));
    const next = places(first, 'cdef');
    expect(next.get('c')).toBe(2);
    expect(next.get('d')).toBe(3);
    expect([next.get('e'), next.get('f')].sort()).toEqual([0, 1]);
  });
  it('are no more than rows are drawn, wherever the list goes', () => {
    let at = places(new Map(), 'abcd');
    for (const inView of ['mnop', 'nopq', 'abcdefgh', 'zyxw', 'ghza', 'a']) {
      at = places(at, inView);
      const used = [...at.values()];
      expect(new Set(used).size).toBe(inView.length);
      expect(Math.max(...used)).toBeLessThan(8);
    }
    expect(places(at, 'xyz').size).toBe(3);
  });
});
