import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DeploymentSpec } from '../model/deployment.ts';
import { draftOfBody, mergeDraft, removedEntries } from './deployment-merge.ts';
import { specOfDraft } from './deployment-spec.ts';

const STORED: DeploymentSpec = {
  kind: 'Deployment',
  name: 'web',
  image: 'shop/web:1',
  replicas: 2,
  environment: { A: '1', B: '2' },
  secrets: [
    { name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' },
    { name: 'MQ', vault_path: 'resources/mq', anchor: 'process', rotation: 'restart' },
  ],
  secretsVersion: 3,
  nodeId: 'n1',
};

describe('a draft from a body', () => {
  it('takes known fields; null is absent', () => {
    expect(draftOfBody({ name: 'web', id: 'dep_1', status: {}, nodeId: null, replicas: 0 })).toEqual({
      name: 'web',
      replicas: 0,
    });
  });
});

describe('a merge', () => {
  it('keeps what is not sent', () => {
    expect(mergeDraft(STORED, {})).toEqual(STORED);
    expect(mergeDraft(STORED, { id: 'x', revision: 9, alterations: [] })).toEqual(STORED);
  });

  it('replaces whole what is sent, and null clears', () => {
    const draft = mergeDraft(STORED, { environment: { C: '3' }, secrets: [], nodeId: null });
    expect(draft).toEqual({ ...STORED, environment: { C: '3' }, secrets: [], nodeId: undefined });
    expect(Object.hasOwn(draft, 'nodeId')).toBe(false);
  });

  it('changes neither side', () => {
    const before = structuredClone(STORED);
    mergeDraft(STORED, { environment: null, replicas: 0 });
    expect(STORED).toEqual(before);
  });

  it('is a plain assignment, field by field', () => {
    const value = fc.option(fc.string(), { nil: null });
    const body = fc.record({ image: value, nodeId: value, replicas: fc.nat() }, { requiredKeys: [] });
    fc.assert(
      fc.property(body, (sent) => {
        const merged = mergeDraft(STORED, sent) as Record<string, unknown>;
        for (const key of Object.keys(STORED) as (keyof DeploymentSpec)[]) {
          const expected = Object.hasOwn(sent, key) ? (sent as Record<string, unknown>)[key] : STORED[key];
          expect(merged[key] ?? null).toEqual(expected ?? null);
        }
      }),
    );
  });
});

describe('a spec from a draft', () => {
  it('has no write-time material, and every field it was given', () => {
    const spec = specOfDraft({
      ...STORED,
      secrets: [
        { ...STORED.secrets[0], values: { password: 'x' }, generate: { keys: ['k'] }, mount_path: '/x' },
      ],
    });
    expect(spec).toEqual({ ...STORED, secrets: [STORED.secrets[0]] });
    expect(specOfDraft(STORED)).toEqual(STORED);
  });

  it('always has a list of secrets', () => {
    expect(specOfDraft({ name: 'web' })).toEqual(expect.objectContaining({ name: 'web', secrets: [] }));
  });
});

describe('what an update removes', () => {
  const FULL: DeploymentSpec = {
    ...STORED,
    command: ['x'],
    composedEnvironment: { URL: '{{secret.db.url}}' },
    healthCheck: { type: 'exec', command: ['x'] },
    volumes: [{ volumeId: 'vol_1', mountPath: '/a', readOnly: true }],
    placement: {
      residency: { country: 'DE', blockedCountries: ['RU', 'BY'] },
      constraints: { disk: 'ssd' },
      antiAffinity: ['db'],
    },
    resources: { requests: { cpu: 1 } },
    dependsOn: { db: 'healthy', constructor: 'started' as const },
    labels: { team: 'shop' },
    ports: [
      { container: 80, host: 8080 },
      { container: 80, host: 8081 },
    ],
    ingress: [{ host: 'a.b', port: 80 }],
    update: { maxSurge: 2 },
  };

  it('is nothing when nothing is lost', () => {
    expect(removedEntries(FULL, FULL)).toEqual([]);
    expect(removedEntries(STORED, FULL)).toEqual([]);
    expect(removedEntries(FULL, { ...FULL, image: 'shop/web:2', replicas: 0 })).toEqual([]);
  });

  it('names the members that a replaced block lost, and the block alone when it is gone', () => {
    const healthCheck = { type: 'exec', command: ['x'], retries: 5, timeout: '20s' } as const;
    const resources = { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: 2 } };
    const before: DeploymentSpec = { ...FULL, healthCheck, resources };
    expect(
      removedEntries(before, {
        ...before,
        healthCheck: { type: 'exec', command: ['y'], timeout: '30s' },
        resources: { requests: { cpu: 1 } },
      }),
    ).toEqual(['healthCheck.retries', 'resources.requests.memory', 'resources.limits']);
  });

  it('is told entry by entry', () => {
    const after: DeploymentSpec = {
      kind: 'Deployment',
      name: 'web',
      image: 'shop/web:1',
      replicas: 2,
      secrets: STORED.secrets.slice(0, 1),
      secretsVersion: 3,
      environment: { B: 'other' },
    };
    expect(removedEntries(FULL, after).sort()).toEqual(
      [
        'command',
        'composedEnvironment[URL]',
        'dependsOn[constructor]',
        'dependsOn[db]',
        'environment[A]',
        'healthCheck',
        'ingress',
        'labels[team]',
        'nodeId',
        'placement.antiAffinity[db]',
        'placement.constraints[disk]',
        'placement.residency.blockedCountries',
        'placement.residency.blockedCountries[BY]',
        'placement.residency.blockedCountries[RU]',
        'placement.residency.country',
        'ports[80]',
        'ports[80]',
        'resources',
        'secrets[MQ]',
        'update',
        'volumes[vol_1]',
      ].sort(),
    );
  });

  it('counts entries of one container port', () => {
    expect(removedEntries(FULL, { ...FULL, ports: [{ container: 80, host: 8080 }] })).toEqual(['ports[80]']);
  });
});
