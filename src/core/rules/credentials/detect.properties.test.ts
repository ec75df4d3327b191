import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectCredential } from './detect.ts';
import { PUBLISHED_RULES } from './published.ts';
import { specimen } from './specimen.ts';

const keys = fc.oneof(
  fc.constantFrom(
    'DB_PASSWORD',
    'apiKey',
    'X_KEY',
    'SMTP_AUTH',
    'CONFIG',
    'DATABASE_URL',
    'GIT_SHA',
    'SECRET_ID',
  ),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
// Pieces of what the rules look for, so that generated values get past the first checks.
const pieces = fc.constantFrom(
  '://',
  'user',
  ':',
  '@',
  'password=',
  '"token":"',
  '"',
  '--pass ',
  'Bearer ',
  'Basic ',
  'eyJ',
  '.',
  'ghp_',
  'sk-',
  '-----BEGIN ',
  'PRIVATE KEY',
  'LS0tLS1CRUdJTi',
  '%3A%2F%2F',
  '%',
  '%E0%A4%A',
  '$',
  '${',
  '}',
  '\n',
  '=',
  '$2y$10$',
  '\ud800',
  '\udfff',
  '\u0130',
  '\u0000',
  '\u{1f511}',
  specimen('', 40),
  specimen('', 40, 'hex'),
  'AAAA',
);
const values = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc
    .array(fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 12 })), { maxLength: 20 })
    .map((parts) => parts.join('')),
);

const RULE_TEXTS: ReadonlySet<string> = new Set(PUBLISHED_RULES.map(({ why }) => why));

describe('the detector', () => {
  it('answers for every text, with the words of its rules only', () => {
    fc.assert(
      fc.property(keys, values, (key, value) => {
        const finding = detectCredential(key, value);
        expect(finding === undefined || RULE_TEXTS.has(finding.why)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });

  it('says nothing of the value', () => {
    const generated = fc.string({
      unit: fc.constantFrom(
        ...'a b c d e f g h i j k l m n o p q r s t u v w x y z A B C D 0 1 2 3 4 5 6 7 8 9 - !'.split(' '),
      ),
      minLength: 4,
    });
    fc.assert(
      fc.property(generated, fc.constantFrom('DB_PASSWORD', 'API_TOKEN', 'ENCRYPTION_KEY'), (value, key) => {
        const finding = detectCredential(key, value);
        if (finding === undefined) return;
        const texts = [...RULE_TEXTS].join(' ');
        for (let at = 0; at + 4 <= value.length; at += 1) {
          const part = value.slice(at, at + 4);
          expect(finding.why.includes(part) && !texts.includes(part)).toBe(false);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('gives the same answer to the same pair in any order of calls', () => {
    fc.assert(
      fc.property(keys, values, values, (key, value, other) => {
        const first = detectCredential(key, value);
        detectCredential(key, other);
        expect(detectCredential(key, value)).toEqual(first);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a value of one megabyte', () => {
  const MEGABYTE = 1_048_576;
  const filler = (unit: string): string => unit.repeat(Math.ceil(MEGABYTE / unit.length));

  it.each([
    ['a private key', '-----BEGIN PRIVATE KEY-----', 'private_key'],
    ['an address with a password', ' https://app:hunter2@db/ ', 'password_in_url'],
    [
      'a signed token',
      ` ${specimen('eyJ', 30)}.${specimen('eyJ', 30)}.${specimen('', 43)}`,
      'json_web_token',
    ],
  ])('does not hide %s', (_what, credential, rule) => {
    expect(detectCredential('CONFIG', `${filler('lorem ipsum, dolor; ')}${credential}`)?.rule).toBe(rule);
  });

  // The bar is 10 ms on an idle core; the bound here is wide because it only has to tell linear from quadratic,
  // which takes minutes.
  it.each([
    'a',
    ' ',
    '/',
    '=',
    '://',
    '://a:',
    '://a:b',
    'a:b@',
    '://a:${X}@',
    'pass= ',
    '"password":""',
    '-----BEGIN RSA ',
    'LS0tLS1CRUdJTi',
    'eyJ',
    'ey-',
    'eyJaaaaaaaaaaaa.eyJaa.',
    'Bearer a',
    'Basic YWJjZGVmZ2g ',
    'sk-',
    'ghp_a ',
    '%3A%2F%2F',
    ' --pass ',
    '\n password:',
    '{{',
    '\\"',
    'A',
    '1.',
    '\u{1f511}',
  ])('made of %j is judged in linear time', (unit) => {
    const value = filler(unit);
    const started = performance.now();
    for (const key of ['CONFIG', 'DB_PASSWORD', 'X_KEY', 'AUTH', 'DATABASE_URL'])
      detectCredential(key, value);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
