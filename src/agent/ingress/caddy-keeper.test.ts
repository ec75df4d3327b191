import { describe, expect, it } from 'vitest';
import { isTooOld, takenPort } from './caddy-keeper.ts';

describe('Caddy of the machine', () => {
  it.each([
    ['2.5.9', true],
    ['1.0.5', true],
    ['2.6.0', false],
    ['2.10.1', false],
    ['3.0.0', false],
    ['(devel)', false],
  ])('of version %s is too old: %s', (version, old) => expect(isTooOld(version)).toBe(old));

  it('names the port that somebody else has', () => {
    expect(takenPort('listening on :443: listen tcp :443: bind: address already in use')).toContain(
      'port 443',
    );
    expect(takenPort('something else')).toBeUndefined();
  });
});
