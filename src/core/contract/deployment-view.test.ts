import { PLATFORM_CONTAINER_DEFAULTS } from '../model/container-defaults.ts';
import { describe, expect, it } from 'vitest';
import type { DeploymentRecord, DeploymentSpec, RotationState } from '../model/deployment.ts';
import type { StoredStatus } from '../model/rollout.ts';
import { deploymentBody } from './deployment-body.ts';
import { SERVER_OWNED } from './server-owned.ts';
import { deploymentView, storedLabels } from './deployment-view.ts';
import { fieldDifferences } from './diff.ts';
import { checkBody } from '../schema/shape.ts';

const SPEC: DeploymentSpec = {
  kind: 'Deployment',
  name: 'web',
  image: 'shop/web:1',
  replicas: 2,
  secrets: [],
  secretsVersion: 4,
};

function view(spec: Partial<DeploymentSpec> = {}, rotation?: RotationState, status?: StoredStatus) {
  const record = {
    id: 'dep_1',
    tenantId: 't',
    spec: { ...SPEC, ...spec },
    specHash: 'h',
    imageDigest: 'sha256:d',
    version: 1,
    createdAt: 'c',
    updatedAt: 'u',
    ...(rotation === undefined ? {} : { rotation }),
  } as DeploymentRecord;
  return deploymentView({
    record,
    revision: 9,
    defaults: PLATFORM_CONTAINER_DEFAULTS,
    ...(status === undefined ? {} : { status }),
  });
}

describe('a deployment as it is shown', () => {
  it('is the spec, the keys that the server owns, and nothing else', () => {
    expect(Object.keys(view()).sort()).toEqual([...Object.keys(SPEC), ...SERVER_OWNED].sort());
    expect(view()).toMatchObject({ ...SPEC, id: 'dep_1', tenantId: 't', revision: 9, specHash: 'h' });
  });

  it('can be sent back', () => {
    expect(checkBody(deploymentBody, view())).toBeUndefined();
  });

  it('has a status before anything looked at it', () => {
    expect(view()['status']).toMatchObject({
      phase: 'Pending',
      desired: 2,
      placed: 0,
      secretsVersion: 4,
      rotation: { phase: null, next: 'stage' },
      instances: [],
    });
    expect(view({ replicas: 0 })['status']).toMatchObject({ phase: 'Stopped', desired: 0 });
  });

  it.each([
    [undefined, 'stage', undefined],
    ['stage', 'promote', { current: 1, next: 2 }],
    ['promote', 'retire', { current: 2, previous: 1 }],
    ['retire', 'stage', undefined],
    ['abort', 'stage', undefined],
  ] as const)('after %s comes %s', (phase, next, pin) => {
    const delivered = pin && { 'resources/db': pin };
    const shown = view({}, phase && { phase, ...(delivered && { secrets: delivered }) })['status'];
    const rotation = { phase: phase ?? null, next, ...(delivered && { delivered }) };
    expect((shown as { rotation: unknown }).rotation).toEqual(rotation);
  });

  it('never shows the status of an older spec or number as that of what was asked for', () => {
    const counts = { desired: 2, placed: 2, running: 2, healthy: 2, updated: 2 };
    const status = { phase: 'Running', message: '2 of 2 instances run', since: 's', ...counts } as const;
    const current = view({}, undefined, { ...status, specHash: 'h' })['status'];
    expect(current).toMatchObject(status);
    expect(current).not.toHaveProperty('specHash');
    const first = {
      deploymentId: 'dep_1' as never,
      specHash: 'g',
      version: 1,
      state: 'complete',
      placed: true,
      generation: 1,
    } as const;
    const older = view({}, undefined, { ...status, specHash: 'g', rollout: first })['status'];
    expect(older).not.toHaveProperty('rollout');
    expect(older).toMatchObject({
      phase: 'Progressing',
      desired: 2,
      placed: 0,
      running: 0,
      healthy: 0,
      updated: 0,
    });
    expect(older).not.toHaveProperty('since');
    const scaled = view({ replicas: 5 }, undefined, { ...status, specHash: 'h' })['status'];
    expect(scaled).toMatchObject({ phase: 'Progressing', desired: 5, placed: 2, healthy: 2 });
  });

  it('shows residency as its labels', () => {
    const residency = { country: 'DE', region: 'eu', blockedCountries: ['RU', 'BY'] };
    expect(storedLabels({ ...SPEC, placement: { residency } })).toEqual({
      'berth.io/data-residency-country': 'DE',
      'berth.io/data-residency-region': 'eu',
      'berth.io/blocked-countries': 'RU,BY',
    });
    expect(storedLabels(SPEC)).toEqual({});
  });
});

describe('differences', () => {
  it.each<readonly [unknown, unknown, readonly unknown[]]>([
    [{ a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 }, []],
    [{ a: 1 }, { a: 2 }, [{ field: 'a', from: 1, to: 2 }]],
    [
      { a: { b: 1 } },
      { a: { c: 1 } },
      [
        { field: 'a.b', from: 1, to: null },
        { field: 'a.c', from: null, to: 1 },
      ],
    ],
    [{ a: [1, 2] }, { a: [2, 1] }, [{ field: 'a', from: [1, 2], to: [2, 1] }]],
    [{ a: {} }, {}, [{ field: 'a', from: {}, to: null }]],
    [{ a: undefined }, {}, []],
    [{}, { constructor: 'x' }, [{ field: 'constructor', from: null, to: 'x' }]],
    [{ toString: 'x' }, {}, [{ field: 'toString', from: 'x', to: null }]],
  ])('%j and %j', (before, after, expected) => {
    expect(fieldDifferences(before, after)).toEqual(expected);
  });
});
