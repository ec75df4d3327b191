import { describe, expect, it } from 'vitest';
import { detectCredential } from './detect.ts';
import { PUBLISHED_RULES } from './published.ts';

describe('the published rules', () => {
  it('have ids of their own', () => {
    const ids = PUBLISHED_RULES.map(({ rule }) => rule);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each(PUBLISHED_RULES)('$rule shows what it flags', ({ rule, why, flagged }) => {
    expect(flagged.length).toBeGreaterThan(0);
    for (const [key, value] of flagged)
      expect(detectCredential(key, value), `${key}=${value}`).toEqual({ rule, why });
  });

  it.each(PUBLISHED_RULES.filter(({ notFlagged }) => notFlagged.length > 0))(
    '$rule shows what it lets pass',
    ({ notFlagged }) => {
      for (const [key, value] of notFlagged)
        expect(detectCredential(key, value), `${key}=${value}`).toBeUndefined();
    },
  );
});
