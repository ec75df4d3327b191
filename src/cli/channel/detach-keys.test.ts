import { describe, expect, it } from 'vitest';
import { DetachKeys, keyBytes } from './detach-keys.ts';

const P = '\x10';
const Q = '\x11';

function typed(...pieces: readonly string[]): string {
  const keys = new DetachKeys(keyBytes('ctrl-p,ctrl-q'));
  let text = '';
  for (const piece of pieces) {
    const { passed, isDetached } = keys.take(Buffer.from(piece));
    text += passed.toString();
    if (isDetached) return `${text}!`;
  }
  return text;
}

describe('keys that detach', () => {
  it.each([
    [['ls\n'], 'ls\n'],
    [[`ls${P}${Q}x`], 'ls!'],
    [['a', P, Q], 'a!'],
    [[P, 'x'], `${P}x`],
    [[P, P, Q], `${P}!`],
    [[Q], Q],
    [['grün'], 'grün'],
  ])('%j', (pieces, text) => {
    expect(typed(...pieces)).toBe(text);
  });

  it('takes other keys, and refuses what are none', () => {
    expect(keyBytes('ctrl-],~,.')).toEqual([0x1d, 0x7e, 0x2e]);
    expect(() => keyBytes('ctrl-pp')).toThrow('--detach-keys');
  });
});
