import { describe, expect, it } from 'vitest';
import { Settling } from './settling.ts';

const checked = { healthCheck: { type: 'exec', command: ['true'] }, replicas: 1 } as const;
const unchecked = { replicas: 1 } as const;

describe('a deployment without a health check', () => {
  it('is healthy when it has stayed up for a second; with one, or stopped, at once', () => {
    expect(new Settling().see(checked, true, 0)).toBe(true);
    expect(new Settling().see({ replicas: 0 }, true, 0)).toBe(true);
    const settling = new Settling();
    expect([0, 999, 1_000].map((ms) => settling.see(unchecked, true, ms))).toEqual([false, false, true]);
  });

  it('that falls again and again does not stay up', () => {
    const settling = new Settling();
    for (const [isUp, ms] of [
      [true, 0],
      [false, 500],
      [true, 4_000],
      [false, 4_500],
    ] as const) {
      expect(settling.see(unchecked, isUp, ms)).toBe(false);
    }
    expect(settling.isOver(14_999)).toBe(false);
    expect(settling.isOver(15_000)).toBe(true);
    settling.see(unchecked, true, 16_000);
    expect(settling.isOver(16_500)).toBe(false);
  });

  it('that never ran is not said to fall', () => {
    const settling = new Settling();
    settling.see(unchecked, false, 0);
    expect(settling.isOver(60_000)).toBe(false);
  });
});
