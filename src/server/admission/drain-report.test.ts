import { expect, it } from 'vitest';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName, TenantId, VolumeId } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';
import { drainReport } from './drain-report.ts';

function instance(deployment: string, wanted: 'run' | 'stop' = 'run'): InstanceRecord {
  return {
    id: `ins_${deployment}` as InstanceId,
    tenantId: 't' as TenantId,
    deployment,
    specHash: 'h',
    secretsVersion: 0,
    nodeId: 'n1' as NodeName,
    wanted,
    createdAt: '',
    attempt: 0,
  };
}

function volume(id: string, change: Partial<VolumeRecord>): VolumeRecord {
  return {
    id: id as VolumeId,
    tenantId: 't' as TenantId,
    name: id,
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 1,
    replicas: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    primaryNodeId: 'n1' as NodeName,
    ...change,
  };
}

it('tells what can move and what keeps the rest', () => {
  const volumes = [
    volume('only', {}),
    volume('copied', { replicas: [{ nodeId: 'n2' as NodeName, state: 'live', lagSeconds: 0 }] }),
    volume('syncing', { replicas: [{ nodeId: 'n2' as NodeName, state: 'syncing', lagSeconds: 0 }] }),
    volume('elsewhere', { primaryNodeId: 'n2' as NodeName }),
    volume('scratch', { type: 'tmpfs' }),
  ];
  const spec = (name: string): DeploymentSpec => ({
    kind: 'Deployment',
    name,
    image: 'i:1',
    replicas: 1,
    secrets: [],
    secretsVersion: 0,
    ...(name === 'named' ? { nodeId: 'n1' } : {}),
    ...(volumes.some(({ id }) => id === name)
      ? { volumes: [{ volumeId: name, mountPath: '/d', readOnly: false }] }
      : {}),
  });
  const placed = ['free', 'named', 'only', 'copied', 'syncing', 'elsewhere', 'scratch'].map((name) =>
    instance(name),
  );
  const report = drainReport('n1', [...placed, instance('leaving', 'stop')], {
    spec: ({ deployment }) => spec(deployment),
    volume: (id) => volumes.find((one) => one.id === id),
  });
  expect(report.movable).toEqual(['ins_free', 'ins_copied', 'ins_elsewhere', 'ins_scratch']);
  expect(report.blocked.map(({ instance: id }) => id)).toEqual(['ins_named', 'ins_only', 'ins_syncing']);
});
