import { describe, expect, it } from 'vitest';
import { firstRejection } from '../rule.ts';
import type { SecretBearingDraft, SecretDraft } from '../../contract/secret-draft.ts';
import { DEFAULT_SECRET_POLICY } from '../../model/secret-limits.ts';
import { secretRules } from './list.ts';

const GOOD: SecretDraft = { name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' };

function refuse(draft: SecretBearingDraft) {
  const rejection = firstRejection(
    secretRules.map(({ rule }) => rule),
    draft,
    DEFAULT_SECRET_POLICY,
  );
  return rejection && [rejection.code, rejection.field];
}
const refuseEntry = (entry: SecretDraft) => refuse({ secrets: [{ ...GOOD, ...entry }] });

describe('accepted', () => {
  const accepted: readonly SecretDraft[] = [
    GOOD,
    { name: 'DB', vault_path: 'resources/db' },
    { name: '1_a', vault_path: 'deployments/a' },
    { ...GOOD, anchor: 'process' },
    { ...GOOD, vault_path: `resources/${'a'.repeat(63)}` },
    { ...GOOD, vault_path: 'resources/0-9' },
    { ...GOOD, values: {} },
    { ...GOOD, values: { password: 'x', _a1: 'x'.repeat(65_536) } },
    { ...GOOD, values: { user: 'app' }, generate: { keys: ['password'] } },
  ];
  it.each(accepted)('%j', (entry) => {
    expect(refuse({ secrets: [entry] })).toBeUndefined();
  });

  it('an anchor on a declared volume, several entries, no entries', () => {
    expect(
      refuse({ secrets: [{ ...GOOD, anchor: 'volume(vol_1)' }], volumes: [{ volumeId: 'vol_1' }] }),
    ).toBeUndefined();
    expect(
      refuse({
        secrets: [GOOD, { ...GOOD, name: 'DB2' }, { ...GOOD, name: 'X', vault_path: 'deployments/x' }],
      }),
    ).toBeUndefined();
    expect(refuse({ secrets: [] })).toBeUndefined();
    expect(refuse({})).toBeUndefined();
  });
});

describe('refused', () => {
  const name = ['', 'A-B', 'A B', 'Ä', 'A.B', 'A\n'].map(
    (text) => [{ name: text }, 'secret_name_invalid', 'name'] as const,
  );
  const path = (code: string, ...paths: string[]) =>
    paths.map((text) => [{ vault_path: text }, code, 'vault_path'] as const);
  const rows: readonly (readonly [SecretDraft, string, string])[] = [
    ...name,
    ...path('secret_vault_path_required', ''),
    ...path(
      'secret_vault_path_not_relative',
      '/resources/db',
      '/',
      '//',
      '..',
      '../x',
      'resources/..',
      'resources/../x',
      'a/b/..',
    ),
    ...path(
      'secret_path_shape',
      'resources',
      'resources/',
      'resources//db',
      'resources/a/b',
      'resources/./db',
      'resources\\db',
      ' ',
    ),
    ...path(
      'secret_path_namespace',
      'other/db',
      'Resources/db',
      'resources /db',
      '%2e%2e/db',
      './db',
      'registries/db',
    ),
    ...path(
      'secret_path_name',
      'resources/DB',
      'resources/-a',
      'resources/a-',
      `resources/${'a'.repeat(64)}`,
      'resources/a.b',
      'resources/%2e%2e',
      'resources/a\u0000',
      'resources/a\n',
      'resources/․․',
      'resources/.',
      'resources/a_b',
    ),
    ...[
      '',
      'Process',
      'volume',
      'volume()',
      'volume(a b)',
      'volume(a)x',
      'volume(vol_1',
      ' external',
      'volume((a))',
    ].map((anchor) => [{ anchor }, 'secret_anchor_invalid', 'anchor'] as const),
    [{ anchor: 'volume(vol_9)' }, 'secret_anchor_volume_not_declared', 'anchor'],
    ...['', 'none', 'Restart', 'reload'].map(
      (rotation) => [{ rotation }, 'secret_rotation_unsupported', 'rotation'] as const,
    ),
    ...['/run/secrets', '', null, 0, {}].map(
      (mount_path) => [{ mount_path }, 'secret_mount_path_unsupported', 'mount_path'] as const,
    ),
    [{ values: { 'a-b': 'x' } }, 'secret_key_invalid', 'values.a-b'],
    [{ values: { '1a': 'x' } }, 'secret_key_invalid', 'values.1a'],
    [{ values: { '': 'x' } }, 'secret_key_invalid', 'values'],
    [{ values: { 'p@ss word': 'x' } }, 'secret_key_invalid', 'values'],
    [{ values: { a: '' } }, 'secret_value_empty', 'values.a'],
    [{ values: { a: 'x'.repeat(65_537) } }, 'secret_value_too_long', 'values.a'],
    [{ values: { a: 'ä'.repeat(32_769) } }, 'secret_value_too_long', 'values.a'],
    [{ generate: { keys: [] } }, 'secret_generate_keys_required', 'generate.keys'],
    [
      { values: { a: 'x' }, generate: { keys: ['b', 'a'] } },
      'secret_key_provided_and_generated',
      'generate.keys[1]',
    ],
  ];
  it.each(rows)('%j: %s at %s', (entry, code, field) => {
    expect(refuseEntry(entry)).toEqual([code, `secrets[0].${field}`]);
  });

  it('what is absent', () => {
    expect(refuse({ secrets: [{ vault_path: 'resources/db' }] })).toEqual([
      'secret_name_invalid',
      'secrets[0].name',
    ]);
    expect(refuse({ secrets: [{ name: 'DB' }] })).toEqual([
      'secret_vault_path_required',
      'secrets[0].vault_path',
    ]);
  });

  it('a name twice, and one credential in two namespaces', () => {
    expect(refuse({ secrets: [GOOD, GOOD] })).toEqual(['secret_name_duplicate', 'secrets[1].name']);
    const split = { ...GOOD, name: 'X', vault_path: 'deployments/db' };
    expect(refuse({ secrets: [GOOD, split] })).toEqual([
      'secret_path_namespace_split',
      'secrets[1].vault_path',
    ]);
  });

  it('all values together beyond one document', () => {
    const values = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`k${n}`, 'x'.repeat(65_536)]));
    expect(refuseEntry({ values })).toEqual(['secret_value_too_long', 'secrets[0].values']);
  });
});

describe('order', () => {
  it('is that of the fields, entry by entry', () => {
    const bad: SecretDraft = {
      name: '-',
      vault_path: '/x',
      anchor: '',
      rotation: 'x',
      mount_path: '/x',
      values: { '-': '' },
      generate: { keys: [] },
    };
    const fixes: readonly SecretDraft[] = [
      { name: 'A' },
      { vault_path: 'resources/db' },
      { anchor: 'process' },
      { rotation: 'restart' },
    ];
    const codes: unknown[] = [];
    let entry = bad;
    for (const fix of [{}, ...fixes]) {
      entry = { ...entry, ...fix };
      codes.push(refuse({ secrets: [entry, bad] })?.[0]);
    }
    expect(codes).toEqual([
      'secret_name_invalid',
      'secret_vault_path_not_relative',
      'secret_anchor_invalid',
      'secret_rotation_unsupported',
      'secret_mount_path_unsupported',
    ]);
  });
});

describe('redaction', () => {
  const MARKER = 'marker-8d1f';
  const leaky: readonly SecretBearingDraft[] = [
    { secrets: [{ ...GOOD, values: { a: MARKER.repeat(10_000) } }] },
    { secrets: [{ ...GOOD, values: { [`${MARKER} x`]: 'x' } }] },
    { secrets: [{ ...GOOD, mount_path: MARKER }] },
    { secrets: [GOOD], composedEnvironment: { URL: MARKER } },
    { secrets: [GOOD], composedEnvironment: { URL: `${MARKER}{{x}}` } },
    { secrets: [GOOD], composedEnvironment: { URL: `${MARKER}{{secret.nope.key}}` } },
    { secrets: [GOOD], composedEnvironment: { [`${MARKER} x`]: '{{secret.db.a}}' } },
  ];
  it.each(leaky)('never echoes material: %#', (draft) => {
    const rejection = firstRejection(
      secretRules.map(({ rule }) => rule),
      draft,
      DEFAULT_SECRET_POLICY,
    );
    expect(rejection?.received).toMatch(/^\(redacted, \w+, \d+ bytes\)$/);
    expect(JSON.stringify(rejection)).not.toContain(MARKER);
  });
});

describe('hostile lists', () => {
  it('a mount of any type is left to the rule of volumes', () => {
    const secrets = [{ ...GOOD, anchor: 'volume(vol_1)' }];
    for (const mount of [null, 5, 'vol_1', ['vol_1'], {}, { volumeId: null }, { volumeId: ['vol_1'] }]) {
      const volumes = [mount] as unknown as NonNullable<SecretBearingDraft['volumes']>;
      expect(refuse({ secrets, volumes })).toEqual([
        'secret_anchor_volume_not_declared',
        'secrets[0].anchor',
      ]);
    }
  });

  it('more entries than a container should wait for', () => {
    const entries = (count: number) => Array.from({ length: count }, (_, n) => ({ ...GOOD, name: `N${n}` }));
    expect(refuse({ secrets: entries(64) })).toBeUndefined();
    expect(refuse({ secrets: entries(65) })).toEqual(['secret_entries_too_many', 'secrets']);
    // None of them is looked at then, however many there are.
    expect(refuse({ secrets: Array.from({ length: 200_000 }, () => ({ name: '!' })) })).toEqual([
      'secret_entries_too_many',
      'secrets',
    ]);
  });
});
