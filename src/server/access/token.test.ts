import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hashSecret, matchesHash, mintToken, parseToken } from './token.ts';

const KEY = Buffer.alloc(32, 1);
const KINDS = ['pat', 'join', 'node'] as const;

describe('a token', () => {
  it('is read back as it was minted', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.stringMatching(/^[a-z0-9]{1,40}$/), (kind, id) => {
        const { token, secret } = mintToken(kind, id);
        expect(token).toMatch(/^berth_(pat|join|node)_[a-z0-9]+_[\w-]{43}_[0-9a-f]{8}$/);
        expect(parseToken(token)).toEqual({ kind, id, secret });
      }),
    );
  });

  it('holds 256 random bits, never the same twice', () => {
    const secrets = Array.from({ length: 200 }, () => mintToken('pat', 'a').secret);
    expect(new Set(secrets).size).toBe(200);
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
  });

  it('with one character changed is none', () => {
    const { token } = mintToken('pat', 'tok01');
    for (let index = 0; index < token.length; index += 1) {
      const other = token[index] === 'a' ? 'b' : 'a';
      expect(
        parseToken(token.slice(0, index) + other + token.slice(index + 1)),
        `at ${index}`,
      ).toBeUndefined();
    }
  });

  it('of another form is none', () => {
    const { token } = mintToken('pat', 'tok01');
    for (const text of [
      '',
      ' ',
      'berth_',
      token.slice(1),
      `${token}\n`,
      ` ${token}`,
      token.toUpperCase(),
      'x'.repeat(1e6),
    ])
      expect(parseToken(text)).toBeUndefined();
  });
});

describe('the hash of a secret', () => {
  it('is keyed, and matches that secret under that key only', () => {
    const hash = hashSecret(KEY, 'secret');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(hash).not.toContain('secret');
    expect(matchesHash(KEY, 'secret', hash)).toBe(true);
    expect(matchesHash(KEY, 'Secret', hash)).toBe(false);
    expect(matchesHash(Buffer.alloc(32, 2), 'secret', hash)).toBe(false);
    for (const damaged of ['', 'zz', hash.slice(2), `${hash}00`])
      expect(matchesHash(KEY, 'secret', damaged)).toBe(false);
  });
});
