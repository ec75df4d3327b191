import { expect, it } from 'vitest';
import type { DeploymentRecord, DeploymentSpec } from '../../model/deployment.ts';
import type { DeploymentId, InstanceId, NodeName, TenantId } from '../../model/ids.ts';
import { type PlanInput, planInstances } from './instances.ts';
import type { PlacementRefusal } from './placer.ts';

function inputOf(spec: Partial<DeploymentSpec>, room: number, refused: Partial<PlacementRefusal>): PlanInput {
  const deployment: DeploymentRecord = {
    id: 'dep_1' as DeploymentId,
    tenantId: 't' as TenantId,
    spec: {
      kind: 'Deployment',
      name: 'web',
      image: 'shop/web:1',
      replicas: 1,
      secrets: [],
      secretsVersion: 0,
      ...spec,
    },
    specHash: 'h1',
    version: 3,
    createdAt: '',
    updatedAt: '',
  };
  const refusal = {
    ok: false,
    summary: 'cpu',
    message: 'n1: cpu',
    details: { nodes: 1 },
    digest: 'd',
  } as const;
  let placed = 0;
  return {
    name: 'web',
    deployment,
    specs: new Map(),
    instances: [],
    observationOf: () => undefined,
    nodeOf: () => ({ status: 'ready', draining: false }),
    gates: [],
    placer: {
      place: () => {
        placed += 1;
        return placed > room
          ? { ...refusal, residency: false, ...refused }
          : { ok: true, id: `i${placed}` as InstanceId, nodeId: `n${placed}` as NodeName };
      },
      fitsInsteadOf: () => false,
      refusalElsewhere: () => undefined,
    },
    nowMs: 5000,
  };
}

const SPECS: readonly Partial<DeploymentSpec>[] = [
  {},
  { replicas: 0 },
  { replicas: 3 },
  { replicas: 60 },
  { replicas: 2, update: { maxSurge: 0, maxUnavailable: 2, progressDeadline: '20s', onFailure: 'rollback' } },
  { volumes: [{ volumeId: 'v', mountPath: '/v', readOnly: false }] },
  { healthCheck: { type: 'exec', command: ['probe'] } },
];

it.each(SPECS.flatMap((spec) => [0, 1, 2, 100].map((room) => ({ spec, room }))))(
  'of a fresh deployment is the plan that any other would get: %j',
  ({ spec, room }) => {
    for (const refused of [{}, { residency: true }, { quota: true }]) {
      // With a memory, even of nothing, it is planned as one that was looked at before.
      const looked = { ...inputOf(spec, room, refused), memory: { instances: new Map() } };
      expect(planInstances(inputOf(spec, room, refused))).toStrictEqual(planInstances(looked));
    }
  },
);
