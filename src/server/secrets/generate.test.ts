import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { GenerateDraft } from '../../core/contract/secret-draft.ts';
import {
  DEFAULT_SECRET_POLICY as POLICY,
  SECRET_ALPHABETS,
  SECRET_CHARSETS,
} from '../../core/model/secret-limits.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { drawText, mintSecrets } from './generate.ts';

const DRAWS = 100_000;

/** χ² of the counts against the uniform distribution. */
function chiSquare(counts: readonly number[], total: number): number {
  const expected = total / counts.length;
  return counts.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
}

/** Upper bound of χ² at p = 0.001 (Wilson and Hilferty's approximation). */
function critical(freedom: number): number {
  const z = 3.0902;
  const term = 2 / (9 * freedom);
  return freedom * (1 - term + z * Math.sqrt(term)) ** 3;
}

function countsOf(text: string, alphabet: string): number[] {
  return alphabet.split('').map((char) => text.split(char).length - 1);
}

/** Repeatable bytes, so that the statistical test gives the same verdict in every run. */
function seededSource(seed: number) {
  let state = seed;
  return (bytes: number): Uint8Array =>
    Uint8Array.from({ length: bytes }, () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
      mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
      return ((mixed ^ (mixed >>> 14)) >>> 24) & 0xff;
    });
}

describe('drawn characters', () => {
  it.each(SECRET_CHARSETS)('%s: 10^5 draws are uniform, p > 0.001', (charset) => {
    const alphabet = SECRET_ALPHABETS[charset];
    const counts = countsOf(drawText(DRAWS, charset, seededSource(11)), alphabet);
    expect(counts.reduce((sum, seen) => sum + seen, 0)).toBe(DRAWS);
    expect(chiSquare(counts, DRAWS)).toBeLessThan(critical(alphabet.length - 1));
  });

  it.each(SECRET_CHARSETS)('%s: the test sees modulo bias', (charset) => {
    const alphabet = SECRET_ALPHABETS[charset];
    const folded = [...seededSource(11)(DRAWS)]
      .map((byte) => alphabet.charAt(byte % alphabet.length))
      .join('');
    expect(chiSquare(countsOf(folded, alphabet), DRAWS)).toBeGreaterThan(critical(alphabet.length - 1));
  });

  it.each(SECRET_CHARSETS)('%s: every fair byte maps evenly and every other is drawn again', (charset) => {
    const alphabet = SECRET_ALPHABETS[charset];
    const fair = 256 - (256 % alphabet.length);
    const all = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const text = drawText(fair, charset, () => all);
    expect(new Set(countsOf(text, alphabet))).toEqual(new Set([fair / alphabet.length]));
  });

  it.each(SECRET_CHARSETS)('%s: the system source gives every character', (charset) => {
    const alphabet = SECRET_ALPHABETS[charset];
    expect(countsOf(drawText(DRAWS, charset), alphabet).every((seen) => seen > 0)).toBe(true);
  });

  it('has alphabets without repeated characters', () => {
    expect(Object.values(SECRET_ALPHABETS).map((alphabet) => new Set(alphabet).size)).toEqual([62, 36, 75]);
  });
});

describe('minting', () => {
  const mint = (block: GenerateDraft) => {
    const values = mintSecrets(block, POLICY);
    return [...values.values()].map((value) => value.reveal());
  };

  it.each([
    [{}, /^[A-Za-z0-9_-]{43}$/],
    [{ encoding: 'base64' }, /^[A-Za-z0-9+/]{43}=$/],
    [{ encoding: 'hex' }, /^[0-9a-f]{64}$/],
    [{ encoding: 'hex', bytes: 512 }, /^[0-9a-f]{1024}$/],
    [{ bytes: 768 }, /^[A-Za-z0-9_-]{1024}$/],
    [{ bytes: 16 }, /^[A-Za-z0-9_-]{22}$/],
    [{ length: 22 }, /^[A-Za-z0-9]{22}$/],
    [{ length: 25, charset: 'lowercase' }, /^[a-z0-9]{25}$/],
    [{ length: 1024, charset: 'symbols' }, /^[A-Za-z0-9!#%*+\-.:=?@_~]{1024}$/],
  ])('%j', (block, form) => {
    const [text] = mint({ keys: ['a'], ...block });
    expect(text).toMatch(form);
  });

  it('gives every key a value of its own, and never the same twice', () => {
    const minted = Array.from({ length: 200 }, () => mint({ keys: ['a', 'b', 'c'] })).flat();
    expect(new Set(minted).size).toBe(600);
  });

  it('shows nothing of it', () => {
    const values = mintSecrets({ keys: ['a'] }, POLICY, () => randomBytes(32).fill(0x41));
    expect(JSON.stringify([...values])).toBe('[["a","[redacted]"]]');
  });

  it('does not mint from a block that was not checked', () => {
    expect(() => mint({ keys: ['a'], encoding: 'rot13' })).toThrow(TypeError);
    expect(() => mint({ keys: ['a'], charset: 'symbols' })).toThrow(TypeError);
  });
});

describe('alternates', () => {
  const block = {
    user: { alternate: ['shop_a', 'shop_b', 'shop_c'] },
    password: { length: 40 },
  } as GenerateDraft;
  const user = (inService?: string): string | undefined =>
    mintSecrets(
      block,
      POLICY,
      randomBytes,
      new Map(inService === undefined ? [] : [['user', new SecretValue(inService)]]),
    )
      .get('user')
      ?.reveal();

  it('are taken in turn, from the first', () => {
    expect([user(), user('shop_a'), user('shop_b'), user('shop_c')]).toEqual([
      'shop_a',
      'shop_b',
      'shop_c',
      'shop_a',
    ]);
    expect(user('somebody')).toBe('shop_a');
  });

  it('stand beside keys that are random', () => {
    expect(mintSecrets(block, POLICY).get('password')?.reveal()).toHaveLength(40);
  });
});
