import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonLength, utf8Length } from './text-bytes.ts';

describe('utf8Length', () => {
  it.each(['', 'plain', 'é', 'zwölf €', '🚀 and 🚀', '\ud83d', '\ude80x', '\ud83d\ud83d\ude80', 'a\ud83d'])(
    'counts the bytes of %j as they are sent, short or long',
    (text) => {
      const spaced = `${text} `;
      expect(utf8Length(spaced)).toBe(new TextEncoder().encode(spaced).length);
      expect(utf8Length(spaced.repeat(4096))).toBe(4096 * utf8Length(spaced));
    },
  );
});

describe('jsonLength', () => {
  /** Halves of pairs and control characters, too. */
  const text = fc
    .array(fc.oneof(fc.nat(0xffff), fc.nat(0x80), fc.integer({ min: 0xd7ff, max: 0xe000 })))
    .map((units) => String.fromCharCode(...units));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      text,
      fc.double({ noDefaultInfinity: true, noNaN: true }),
      fc.boolean(),
      fc.constant(null),
      fc.constant(undefined),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }));

  it('is the length of what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.array(value), (drawn) => {
        expect(jsonLength(drawn)).toBe(new TextEncoder().encode(JSON.stringify(drawn)).length);
      }),
      { numRuns: 300 },
    );
  });
});
