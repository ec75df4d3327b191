import { describe, expect, it } from 'vitest';
import { inputJson } from './input-json.ts';

describe('JSON that is sent on', () => {
  it('may begin with one byte order mark', () => {
    expect(inputJson('\uFEFF{"A":"\uFEFFx"}', 'standard input')).toEqual({ A: '\uFEFFx' });
    expect(() => inputJson('\uFEFF\uFEFF{}', 'standard input')).toThrow('standard input is not valid JSON');
  });

  it.each([
    [
      'a number that would be rounded',
      '{"a": 100.00000000000000001}',
      /^standard input: A number with a frac/,
    ],
    ['one before a key that is given twice', '{"a": 1e-400, "b": 1, "b": 2}', /^standard input: A number/],
    ['a key that is given twice', '{"b": 1, "b": 2}', /^standard input holds the same key twice/],
    ['a number that is too large', '{"a": [1e400]}', /^standard input holds a number that is too large/],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, /^standard input is nested more than 32 levels deep/],
    ['20,000 levels', `${'['.repeat(20_000)}${']'.repeat(20_000)}`, /nested more than 32 levels deep/],
  ])('is refused with %s', (_what, text, message) => {
    expect(() => inputJson(text, 'standard input')).toThrow(message);
  });

  it('may have 32 levels, and fractions', () => {
    const text = `${'['.repeat(32)}0.5${']'.repeat(32)}`;
    expect(JSON.stringify(inputJson(text, 'standard input'))).toBe(text);
  });
});
