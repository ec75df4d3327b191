import { describe, expect, it } from 'vitest';
import type { SecretReference } from '../model/deployment.ts';
import { SecretValue } from '../model/secret-value.ts';
import { type Delivery, type EntryDocuments, planDelivery, type SecretKeys } from './delivery.ts';

const entry = (name: string, vault_path: string): SecretReference => ({
  name,
  vault_path,
  anchor: 'external',
  rotation: 'restart',
});
const keys = (content: Record<string, string>): SecretKeys =>
  new Map(Object.entries(content).map(([key, value]) => [key, new SecretValue(value)]));
const only = (content: Record<string, string>): EntryDocuments => ({ current: keys(content) });

function envOf(delivery: Delivery): Record<string, string> | string {
  if (!delivery.ok) return delivery.reason;
  return Object.fromEntries([...delivery.env].map(([name, value]) => [name, value.reveal()]));
}

const DB = entry('DB', 'resources/db');
const KEY = entry('API', 'deployments/web');

describe('delivered variables', () => {
  it('are NAME_key for every key of every entry, and no constants', () => {
    const documents = new Map([
      ['DB', only({ password: 'p', user: 'u' })],
      ['API', only({ token: 't' })],
    ]);
    const delivery = planDelivery({ secrets: [DB, KEY], environment: { LOG: 'info' } }, documents);
    expect(envOf(delivery)).toEqual({ DB_password: 'p', DB_user: 'u', API_token: 't' });
  });

  it('carry both versions during the overlap', () => {
    const staged = new Map([['DB', { current: keys({ p: 'old' }), next: keys({ p: 'new' }) }]]);
    expect(envOf(planDelivery({ secrets: [DB] }, staged))).toEqual({ DB_p: 'old', DB_p_NEXT: 'new' });
    const promoted = new Map([['DB', { current: keys({ p: 'new' }), previous: keys({ p: 'old' }) }]]);
    expect(envOf(planDelivery({ secrets: [DB] }, promoted))).toEqual({ DB_p: 'new', DB_p_PREVIOUS: 'old' });
  });

  it('compose with every version that is delivered, whatever the entry is called', () => {
    const documents = new Map([['DB', { current: keys({ p: 'old' }), next: keys({ p: 'new' }) }]]);
    const spec = { secrets: [DB], composedEnvironment: { URL: 'x:{{secret.db.p}}@{{secret.db.p}}' } };
    expect(envOf(planDelivery(spec, documents))).toEqual({
      DB_p: 'old',
      DB_p_NEXT: 'new',
      URL: 'x:old@old',
      URL_NEXT: 'x:new@new',
    });
    const promoted = new Map([
      ['DB', { current: keys({ p: 'new', q: '1' }), previous: keys({ p: 'old' }) }],
      [KEY.name, only({ token: 't' })],
    ]);
    const composedEnvironment = { URL: '{{secret.db.p}}{{secret.db.q}}', OTHER: '{{secret.web.token}}' };
    expect(envOf(planDelivery({ secrets: [DB, KEY], composedEnvironment }, promoted))).toMatchObject({
      URL: 'new1',
      URL_PREVIOUS: 'old1',
      OTHER: 't',
    });
    expect(envOf(planDelivery({ secrets: [DB, KEY], composedEnvironment }, promoted))).not.toHaveProperty(
      'OTHER_PREVIOUS',
    );
  });
});

describe('fails closed', () => {
  const documents = new Map([['DB', only({ password: 'marker-1' })]]);
  const rows: readonly [string, Parameters<typeof planDelivery>, string, string][] = [
    ['no document', [{ secrets: [DB, KEY] }, documents], 'missing_document', 'deployments/web'],
    ['no keys', [{ secrets: [DB] }, new Map([['DB', only({})]])], 'missing_key', 'resources/db'],
    [
      'an empty value',
      [{ secrets: [DB] }, new Map([['DB', only({ a: 'x', b: '' })]])],
      'missing_key',
      'key b',
    ],
    [
      'a key that is none',
      [{ secrets: [DB] }, new Map([['DB', only({ 'a b': 'x' })]])],
      'missing_key',
      'resources/db',
    ],
    [
      'a staged version without a key in use',
      [{ secrets: [DB] }, new Map([['DB', { current: keys({ a: 'x', b: 'y' }), next: keys({ a: 'z' }) }]])],
      'missing_key',
      'key b',
    ],
    [
      'a template key that is absent',
      [{ secrets: [DB], composedEnvironment: { U: '{{secret.db.user}}' } }, documents],
      'missing_key',
      'key user',
    ],
    [
      'a template resource that is absent',
      [{ secrets: [DB], composedEnvironment: { U: '{{secret.cache.user}}' } }, documents],
      'missing_document',
      'cache',
    ],
    [
      'a malformed template',
      [{ secrets: [DB], composedEnvironment: { U: '{{secret.db' } }, documents],
      'missing_key',
      'U',
    ],
    [
      'a constant of the same name',
      [{ secrets: [DB], environment: { DB_password: 'c' } }, documents],
      'collision',
      'DB_password',
    ],
    [
      'a template of the same name',
      [{ secrets: [DB], composedEnvironment: { DB_password: '{{secret.db.password}}' } }, documents],
      'collision',
      'DB_password',
    ],
    [
      'two entries of the same variable',
      [
        { secrets: [entry('A', 'resources/a'), entry('A_B', 'resources/b')] },
        new Map([
          ['A', only({ B_C: 'marker-1' })],
          ['A_B', only({ C: 'marker-2' })],
        ]),
      ],
      'collision',
      'A_B_C',
    ],
    [
      'a key that looks like the staged one',
      [
        { secrets: [DB] },
        new Map([['DB', { current: keys({ p: '1', p_NEXT: '2' }), next: keys({ p: '3', p_NEXT: '4' }) }]]),
      ],
      'collision',
      'DB_p_NEXT',
    ],
  ];
  it.each(rows)('%s', (_name, [spec, found], reason, named) => {
    const delivery = planDelivery(spec, found);
    expect(delivery).toMatchObject({ ok: false, reason });
    expect('env' in delivery).toBe(false);
    expect(!delivery.ok && delivery.message).toContain(named);
    expect(JSON.stringify(delivery)).not.toContain('marker');
  });
});

describe('templates are expanded once, byte for byte', () => {
  const hostile = [
    '{{secret.db.other}}',
    '{{secret.db.password}}',
    '{{secret.x.y}}',
    '{{',
    '}}',
    '{{secret.',
    '.password}}',
    '{{secret.db.',
    '$',
    '$$',
    '$&',
    "$'",
    '$`',
    '$1',
    '$0',
    '${HOME}',
    '$(id)',
    '`id`',
    '%s',
    '%d%n',
    '\\',
    '\\n',
    '\\\\',
    '\n',
    '\r\n',
    '\t',
    '\u0001',
    '\u007f',
    '"',
    "'",
    '<script>',
    '&amp;',
    '#',
    ' ',
    '  lead',
    'trail  ',
    '=',
    'A=B',
    'ü',
    '🔑',
    'e\u0301',
    '\u202e',
    '\ufeff',
    '\u2028',
    'x'.repeat(65_536),
    '-',
    '--flag',
    '../..',
    '__proto__',
    '{{{secret.db.other}}}',
    '{{secret.db.other}}{{secret.db.other}}',
  ];

  it.each(hostile.map((value, index) => [index, value] as const))('value %i', (_index, value) => {
    const documents = new Map([['DB', only({ password: value, other: 'OTHER' })]]);
    const spec = {
      secrets: [DB],
      composedEnvironment: {
        URL: 'a{{secret.db.password}}b{{secret.db.other}}',
        ONE: '{{secret.db.password}}',
      },
    };
    expect(envOf(planDelivery(spec, documents))).toEqual({
      DB_password: value,
      DB_other: 'OTHER',
      URL: `a${value}bOTHER`,
      ONE: value,
    });
  });

  it.each(['a\u0000b', '\u0000', 'x'.repeat(131_060)])(
    'what no container can take is refused: %#',
    (value) => {
      const documents = new Map([['DB', only({ password: value })]]);
      expect(envOf(planDelivery({ secrets: [DB] }, documents))).toBe('undeliverable');
      const parts = new Map([['DB', only({ a: 'x'.repeat(65_536), b: 'y'.repeat(65_536) })]]);
      const joined = { secrets: [DB], composedEnvironment: { BOTH: '{{secret.db.a}}{{secret.db.b}}' } };
      expect(envOf(planDelivery(joined, parts))).toBe('undeliverable');
    },
  );

  it('covers at least 50 values', () => expect(new Set(hostile).size).toBeGreaterThanOrEqual(50));

  it('does not join a placeholder from two values', () => {
    const documents = new Map([['DB', only({ a: '{{secret.db', b: '.other}}', other: 'OTHER' })]]);
    const spec = { secrets: [DB], composedEnvironment: { URL: '{{secret.db.a}}{{secret.db.b}}' } };
    expect(envOf(planDelivery(spec, documents))).toMatchObject({ URL: '{{secret.db.other}}' });
  });
});
