import { describe, expect, it } from 'vitest';
import { runTime } from './run-time.ts';

const START = '2026-11-15T03:00:00.000Z';
const after = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();

describe('runTime', () => {
  it.each([
    [1.25, '1.3 s'],
    [45, '45 s'],
    [125, '2 min'],
    [3 * 3600 + 120, '3 h 2 min'],
  ])('says %f seconds', (seconds, text) => {
    expect(runTime(START, after(seconds), 0)).toBe(text);
  });

  it('counts a run that goes on, and one that has not started', () => {
    expect(runTime(START, undefined, Date.parse(START) + 30_000)).toBe('30 s');
    expect(runTime(undefined, undefined, 0)).toBe('not started');
  });
});
