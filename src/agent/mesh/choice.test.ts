import { describe, expect, it } from 'vitest';
import { choiceOf } from './choice.ts';

const one = (address: string, share?: number) => ({ address, ...(share !== undefined && { share }) });
const choice = (...all: readonly ReturnType<typeof one>[]) => choiceOf(all, ({ address }) => address);

describe('a choice of nftables', () => {
  it('is none where there is one', () => {
    expect(choice(one('10.0.0.1'))).toBe('10.0.0.1');
    expect(choice(one('10.0.0.1', 0), one('10.0.0.2', 7))).toBe('10.0.0.2');
  });

  it('is even without shares', () => {
    expect(choice(one('10.0.0.1'), one('10.0.0.2'))).toBe(
      'numgen random mod 2 map { 0 : 10.0.0.1, 1 : 10.0.0.2 }',
    );
  });

  it('is as uneven as shares are', () => {
    expect(choice(one('10.0.0.1', 9), one('10.0.0.2', 1), one('10.0.0.3', 0))).toBe(
      'numgen random mod 10 map { 0-8 : 10.0.0.1, 9 : 10.0.0.2 }',
    );
  });
});
