import { describe, expect, it } from 'vitest';
import { rowWindow } from './use-window.ts';

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
      expect(above + Math.max(0, last - first) * 44 + below).toBeGreaterThanOrEqual(5000 * 44);
    }
  });
  it('draws all of a short list', () =>
    expect(rowWindow(0, 800, 44, 3)).toEqual({ first: 0, last: 3, above: 0, below: 0 }));
});
