import { Buffer as Bytes } from 'node:buffer';
import { describe, expect, it } from 'vitest';
import { firstRejection } from '../rule.ts';
import type { GenerateDraft } from '../../contract/secret-draft.ts';
import {
  DEFAULT_SECRET_POLICY as POLICY,
  drawnEntropyBits,
  encodedLength,
} from '../../model/secret-limits.ts';
import { bytesRange, checkGenerate } from './generate.ts';
import { entryPlace, WRITE_PLACE } from './place.ts';
import { secretWriteRules } from './write.ts';

const keys = ['password'];

/** What a block says of single keys, under their names. */
function perKey(block: Readonly<Record<string, unknown>>): GenerateDraft {
  return block;
}

function refuse(block: GenerateDraft) {
  const rejection = checkGenerate(block, WRITE_PLACE, POLICY);
  return rejection && [rejection.code, rejection.field];
}

describe('generate block', () => {
  const accepted: readonly GenerateDraft[] = [
    { keys },
    { keys: ['a', 'b', '_c', 'A1'] },
    { keys, bytes: 16 },
    { keys, bytes: 768 },
    { keys, bytes: 768, encoding: 'base64url' },
    { keys, bytes: 768, encoding: 'base64' },
    { keys, bytes: 512, encoding: 'hex' },
    { keys, encoding: 'hex' },
    { keys, length: 22 },
    { keys, length: 22, charset: 'alphanumeric' },
    { keys, length: 25, charset: 'lowercase' },
    { keys, length: 21, charset: 'symbols' },
    { keys, length: 1024 },
    perKey({ password: {} }),
    perKey({ user: { alternate: ['shop_a', 'shop_b'] }, password: { length: 32, charset: 'symbols' } }),
    { keys, bytes: 24, ...perKey({ user: { alternate: ['a', 'b', 'c'] } }) },
  ];
  it.each(accepted)('accepts %j', (block) => expect(refuse(block)).toBeUndefined());

  const refused: readonly (readonly [GenerateDraft, string, string])[] = [
    [perKey({ 'a-b': {} }), 'secret_key_invalid', 'generate.a-b'],
    [perKey({ bytes: 32, password: {} }), 'secret_generate_keys_required', 'generate.keys'],
    [{ keys, ...perKey({ password: {} }) }, 'secret_generate_key_duplicate', 'generate.password'],
    [perKey({ password: { bytes: 8 } }), 'secret_generate_bytes_out_of_range', 'generate.password.bytes'],
    [perKey({ a: { length: 8 } }), 'secret_generate_below_entropy_floor', 'generate.a.length'],
    [perKey({ a: { bytes: 32, length: 32 } }), 'secret_generate_axis_conflict', 'generate.a'],
    [perKey({ a: { bytes: 32, alternate: ['b', 'c'] } }), 'secret_generate_axis_conflict', 'generate.a'],
    ...[[], ['a'], ['a', 'a'], ['a', ''], ['a', 'b', 'a'], ['a', 'x'.repeat(65_537)]].map(
      (alternate) =>
        [perKey({ u: { alternate } }), 'secret_generate_alternate_invalid', 'generate.u.alternate'] as const,
    ),
    [
      perKey(Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`k${n}`, { length: 1024 }]))),
      'secret_value_too_long',
      'generate.keys',
    ],
    [{}, 'secret_generate_keys_required', 'generate.keys'],
    [{ keys: [] }, 'secret_generate_keys_required', 'generate.keys'],
    [{ keys: ['a', 'a-b'] }, 'secret_key_invalid', 'generate.keys[1]'],
    [{ keys: [''] }, 'secret_key_invalid', 'generate.keys[0]'],
    [{ keys: ['a', 'b', 'a'] }, 'secret_generate_key_duplicate', 'generate.keys[2]'],
    [{ keys, bytes: 32, length: 32 }, 'secret_generate_axis_conflict', 'generate'],
    [{ keys, bytes: 32, charset: 'symbols' }, 'secret_generate_axis_conflict', 'generate'],
    [{ keys, encoding: 'hex', length: 32 }, 'secret_generate_axis_conflict', 'generate'],
    [{ keys, encoding: 'x', charset: 'y' }, 'secret_generate_axis_conflict', 'generate'],
    [{ keys, encoding: 'base32' }, 'secret_generate_encoding_unknown', 'generate.encoding'],
    [{ keys, encoding: '' }, 'secret_generate_encoding_unknown', 'generate.encoding'],
    [{ keys, encoding: 'constructor' }, 'secret_generate_encoding_unknown', 'generate.encoding'],
    [{ keys, bytes: 15 }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, bytes: 0 }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, bytes: -1 }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, bytes: 16.5 }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, bytes: 769 }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, bytes: 513, encoding: 'hex' }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, bytes: 1e308 }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
    [{ keys, charset: 'ascii', length: 40 }, 'secret_generate_charset_unknown', 'generate.charset'],
    [{ keys, charset: 'toString', length: 40 }, 'secret_generate_charset_unknown', 'generate.charset'],
    [{ keys, charset: 'symbols' }, 'secret_generate_length_out_of_range', 'generate.length'],
    [{ keys, length: 0 }, 'secret_generate_length_out_of_range', 'generate.length'],
    [{ keys, length: -5 }, 'secret_generate_length_out_of_range', 'generate.length'],
    [{ keys, length: 1025 }, 'secret_generate_length_out_of_range', 'generate.length'],
    [{ keys, length: 22.5 }, 'secret_generate_length_out_of_range', 'generate.length'],
    [{ keys, length: 21 }, 'secret_generate_below_entropy_floor', 'generate.length'],
    [{ keys, length: 24, charset: 'lowercase' }, 'secret_generate_below_entropy_floor', 'generate.length'],
    [{ keys, length: 20, charset: 'symbols' }, 'secret_generate_below_entropy_floor', 'generate.length'],
    [{ keys, length: 1 }, 'secret_generate_below_entropy_floor', 'generate.length'],
    [
      { keys: Array.from({ length: 600 }, (_, n) => `k${n}`), length: 1024 },
      'secret_value_too_long',
      'generate.keys',
    ],
  ];
  it.each(refused)('refuses %j', (block, code, field) => expect(refuse(block)).toEqual([code, field]));

  it('names its fields below a secret entry', () => {
    const rejection = checkGenerate({ keys, bytes: 1 }, entryPlace(2), POLICY);
    expect([rejection?.field, rejection?.received]).toEqual(['secrets[2].generate.bytes', '1']);
  });

  it.each<GenerateDraft>([
    perKey({ P: { alternate: ['hunter2'] } }),
    perKey({ P: { bytes: 32, alternate: ['hunter2', 'x'] } }),
    { keys, bytes: 32, length: 32, ...perKey({ P: { alternate: ['hunter2', 'x'] } }) },
    { keys: ['P=hunter2'] },
    perKey({ 'P=hunter2': {} }),
  ])('echoes no value of a secret entry: %j', (block) => {
    const rejection = checkGenerate(block, entryPlace(0), POLICY);
    expect(rejection?.received).toMatch(/^\(redacted, /);
    expect(JSON.stringify(rejection)).not.toContain('hunter2');
  });

  it('knows the exact range of every encoding and floor of every alphabet', () => {
    expect(bytesRange('base64url', POLICY)).toEqual({ min: 16, max: 768 });
    expect(bytesRange('base64', POLICY)).toEqual({ min: 16, max: 768 });
    expect(bytesRange('hex', POLICY)).toEqual({ min: 16, max: 512 });
    expect(bytesRange('hex', { ...POLICY, entropyFloorBits: 129 })).toEqual({ min: 17, max: 512 });
    for (const bytes of [16, 17, 18, 32, 767, 768]) {
      for (const encoding of ['base64url', 'base64', 'hex'] as const) {
        expect(encodedLength(bytes, encoding)).toBe(Bytes.alloc(bytes).toString(encoding).length);
      }
    }
    for (const [charset, length] of [
      ['alphanumeric', 22],
      ['lowercase', 25],
      ['symbols', 21],
    ] as const) {
      expect(drawnEntropyBits(length, charset)).toBeGreaterThanOrEqual(128);
      expect(drawnEntropyBits(length - 1, charset)).toBeLessThan(128);
    }
  });
});

describe('secret write', () => {
  const refuseWrite = (body: Parameters<(typeof secretWriteRules)[0]>[0]) =>
    firstRejection(secretWriteRules, body, POLICY);

  it.each([
    [{}, 'secret_write_empty', 'values'],
    [{ values: {} }, 'secret_write_empty', 'values'],
    [{ anchor: 'process' }, 'secret_write_empty', 'values'],
    [{ values: {}, generate: {} }, 'secret_generate_keys_required', 'generate.keys'],
    [{ values: { a: '' } }, 'secret_value_empty', 'values.a'],
    [{ values: { 'a b': 'x' } }, 'secret_key_invalid', 'values'],
    [{ values: { a: 'x' }, anchor: '' }, 'secret_anchor_invalid', 'anchor'],
    [
      { values: { a: 'x' }, generate: { keys: ['a'] } },
      'secret_key_provided_and_generated',
      'generate.keys[0]',
    ],
    [{ generate: { keys: ['a'], bytes: 3 } }, 'secret_generate_bytes_out_of_range', 'generate.bytes'],
  ])('refuses %j', (body, code, field) => {
    expect(refuseWrite(body)).toMatchObject({ code, field });
  });

  it.each([
    { values: { a: 'x' } },
    { generate: { keys: ['a'] } },
    { values: { a: 'x' }, generate: { keys: ['b'] }, anchor: 'process' },
  ])('accepts %j', (body) => expect(refuseWrite(body)).toBeUndefined());

  it('echoes nothing of its body, numbers included', () => {
    expect(refuseWrite({ generate: { keys: ['a'], bytes: 3 } })?.received).toBe(
      '(redacted, number, 1 bytes)',
    );
    expect(refuseWrite({ generate: { keys: ['p@ss'] } })?.received).toBe('(redacted, string, 4 bytes)');
  });
});
