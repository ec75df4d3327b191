import { describe, expect, it } from 'vitest';
import { isRefused, isUnreached, redialMs } from './redial.ts';

const most = () => 1;

describe('the pause before the next connection', () => {
  it.each<[string, Parameters<typeof redialMs>[0], number, number]>([
    ['grows while it refuses', {}, 1, 500],
    ['grows to twenty seconds, so that thousands do not come at once', {}, 20, 20_000],
    [
      'stays short while no machine answers: a network that is back is used at once',
      { unreached: true },
      20,
      2_000,
    ],
    ['stays within half a second while nobody listens, as at a restart', { refused: true }, 20, 500],
    ['grows when that was no restart', { refused: true }, 40, 20_000],
    ['is what it was told, and its turn', { queued: true, retryMs: 3_000 }, 20, 4_000],
  ])('%s', (_what, ended, rounds, ms) => {
    expect(redialMs(ended, rounds, most)).toBe(ms);
  });

  it('knows a machine that is not there from one that refuses', () => {
    const error = (code: string) => Object.assign(new Error(code), { code });
    expect(
      ['ETIMEDOUT', 'EHOSTUNREACH', 'ECONNREFUSED', 'ECONNRESET'].map((code) => isUnreached(error(code))),
    ).toEqual([true, true, false, false]);
    expect(isRefused(error('ECONNREFUSED'))).toBe(true);
  });
});
