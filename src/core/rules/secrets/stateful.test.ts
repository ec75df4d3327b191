import { describe, expect, it } from 'vitest';
import { firstRejection } from '../rule.ts';
import type { SecretReference, VolumeMount } from '../../model/deployment.ts';
import type { VolumeType } from '../../model/volume.ts';
import { checkAnchoredKept } from './anchored.ts';
import { type SecretFacts, statefulSecretRules } from './list.ts';
import { checkResourceName } from './path.ts';
import { checkNothingPersists } from './persist-guard.ts';
import { rotationRejection } from './rotation.ts';

const NO_FACTS: SecretFacts = { namespaceOf: new Map(), volumeTypeOf: new Map(), knownKeys: new Map() };
const secret = (name: string, vault_path: string, anchor = 'volume(vol_1)'): SecretReference => ({
  name,
  vault_path,
  anchor,
  rotation: 'restart',
});
const mount = (volumeId: string): VolumeMount => ({ volumeId, mountPath: '/data', readOnly: false });
const PREVIOUS = {
  secrets: [secret('DB', 'resources/db'), secret('X', 'resources/x', 'process')],
  volumes: [mount('vol_1')],
};

describe('anchored secrets on update', () => {
  const kept = { volumes: [mount('vol_1')] };
  const rows: readonly [string, Parameters<typeof checkAnchoredKept>[1], string | undefined, string?][] = [
    ['unchanged', PREVIOUS, undefined],
    ['the unanchored one dropped', { ...kept, secrets: [secret('DB', 'resources/db')] }, undefined],
    ['delivered under another name', { ...kept, secrets: [secret('PG', 'resources/db')] }, undefined],
    ['dropped', { ...kept, secrets: [] }, 'anchored_secret_dropped', 'secrets'],
    [
      'dropped with another in its place',
      { ...kept, secrets: [secret('PG', 'resources/pg')] },
      'anchored_secret_dropped',
      'secrets',
    ],
    [
      'repointed',
      { ...kept, secrets: [secret('DB', 'resources/other')] },
      'anchored_secret_repointed',
      'secrets[0].vault_path',
    ],
    [
      'repointed and reordered',
      { ...kept, secrets: [secret('X', 'resources/x'), secret('DB', 'resources/y')] },
      'anchored_secret_repointed',
      'secrets[1].vault_path',
    ],
    [
      'anchor given up',
      { ...kept, secrets: [secret('DB', 'resources/db', 'process')] },
      'anchored_secret_dropped',
      'secrets',
    ],
    ['dropped with its volume', { volumes: [], secrets: [] }, undefined],
    ['dropped, volumes field gone', { secrets: [] }, undefined],
    ['dropped, another volume mounted', { volumes: [mount('vol_2')], secrets: [] }, undefined],
  ];
  it.each(rows)('%s', (_name, next, code, field) => {
    const rejection = checkAnchoredKept(PREVIOUS, next);
    expect(rejection?.code).toBe(code);
    expect(rejection?.field).toBe(field);
  });
});

describe('rules over facts', () => {
  const draft = { secrets: [secret('DB', 'resources/db')] };
  const refuse = (facts: Partial<SecretFacts>) => {
    const rejection = firstRejection(statefulSecretRules, draft, { ...NO_FACTS, ...facts });
    return rejection && [rejection.code, rejection.field];
  };

  it('one label, one namespace across the tenant', () => {
    expect(refuse({ namespaceOf: new Map([['db', 'deployments']]) })).toEqual([
      'secret_path_namespace_split',
      'secrets[0].vault_path',
    ]);
    expect(
      refuse({
        namespaceOf: new Map([
          ['db', 'resources'],
          ['x', 'deployments'],
        ]),
      }),
    ).toBeUndefined();
  });

  it.each<[VolumeType | undefined, string | undefined]>([
    ['volume', undefined],
    ['bind', undefined],
    [undefined, undefined],
    ['tmpfs', 'secret_anchor_volume_ephemeral'],
  ])('an anchor on a volume of type %s', (type, code) => {
    const volumeTypeOf = new Map(type === undefined ? [] : [['vol_1', type] as const]);
    expect(refuse({ volumeTypeOf })?.[0]).toBe(code);
  });

  it('an update and known keys', () => {
    expect(
      refuse({ update: { previous: PREVIOUS, next: { secrets: [], volumes: [mount('vol_1')] } } })?.[0],
    ).toBe('anchored_secret_dropped');
    const rejection = firstRejection(
      statefulSecretRules,
      { ...draft, environment: { DB_a: 'x' } },
      { ...NO_FACTS, knownKeys: new Map([['resources/db', ['a']]]) },
    );
    expect(rejection?.code).toBe('secret_environment_collision');
  });
});

describe('persist guard', () => {
  it('lets references through and stops material', () => {
    expect(checkNothingPersists(PREVIOUS.secrets)).toBeUndefined();
    const values = checkNothingPersists([
      secret('A', 'resources/a'),
      { ...secret('B', 'resources/b'), values: { a: 'marker' } },
    ]);
    expect(values).toMatchObject({ code: 'secret_material_would_persist', field: 'secrets[1].values' });
    expect(JSON.stringify(values)).not.toContain('marker');
    expect(checkNothingPersists([{ generate: { keys: ['a'] } }])).toMatchObject({
      code: 'secret_generate_would_persist',
      field: 'secrets[0].generate',
    });
    expect(checkNothingPersists([{ values: {} }])).toMatchObject({ code: 'secret_material_would_persist' });
  });
});

describe('routes of a secret', () => {
  it('consumers of a resource', () => {
    expect(checkResourceName('db')).toBeUndefined();
    expect(checkResourceName('../db')).toMatchObject({ code: 'secret_path_shape', field: 'resource' });
  });
});

describe('rotation refusals', () => {
  it('expect the next phase, and name who is behind', () => {
    expect(rotationRejection({ reason: 'transition_invalid', next: 'promote' }, 'retire')).toMatchObject({
      code: 'rotation_transition_invalid',
      field: 'phase',
      received: 'retire',
      expected: 'promote',
    });
    const instances = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const behind = [{ workload: 'web', instances, why: 'not yet carrying secretsVersion 4' }];
    const rejection = rotationRejection(
      { reason: 'rollout_incomplete', until: 'promote, later', behind },
      'promote',
    );
    expect(rejection).toMatchObject({
      code: 'rotation_rollout_incomplete',
      field: 'phase',
      expected: 'promote, later',
    });
    expect(rejection.why).toContain('web (a; b; c; d; e and 2 more): not yet');
  });
});
