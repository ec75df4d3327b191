import type { SeenVolume } from '../../../src/core/contract/volume-seen.ts';
import type { Residency } from '../../../src/core/model/deployment.ts';
import type { NodeName, TenantId, VolumeId } from '../../../src/core/model/ids.ts';
import type { VolumeRecord } from '../../../src/core/model/volume.ts';
import { fencedAfterMs } from '../../../src/core/model/volume.ts';
import type { VolumeBinding, VolumeFacts, VolumeNode } from '../../../src/core/plan/volumes/volume-facts.ts';

export const LEASE_MS = 15_000;

export const n = (name: string): NodeName => name as NodeName;

export function volumeSample(fields: Partial<VolumeRecord> = {}): VolumeRecord {
  return {
    id: 'vol_1' as VolumeId,
    tenantId: 't' as TenantId,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 2 ** 30,
    primaryNodeId: n('a'),
    copies: 0,
    replicas: [],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    leaseMs: LEASE_MS,
    createdAt: '2026-01-01T00:00:00.000Z',
    ...fields,
  };
}

export function volumeNode(name: string, fields: Partial<VolumeNode> = {}): VolumeNode {
  return {
    name: n(name),
    condition: 'ready',
    schedulable: true,
    labels: {},
    engines: ['btrfs', 'rsync'],
    ...fields,
  };
}

/** Of a deployment that writes, and runs. */
export function binding(residency: Residency, fields: Partial<VolumeBinding> = {}): VolumeBinding {
  return { owner: 'pg', writes: true, active: true, residency, ...fields };
}

export interface VolumeWorld extends Partial<Omit<VolumeFacts, 'node' | 'nodes' | 'seen' | 'load'>> {
  readonly nodes?: readonly VolumeNode[];
  readonly seen?: Readonly<Record<string, Partial<SeenVolume>>>;
  readonly load?: Readonly<Record<string, number>>;
}

/** Facts for tests: what is not given is as on a quiet day, long after any lease. */
export function volumeFacts({ nodes = [], seen = {}, load = {}, ...facts }: VolumeWorld): VolumeFacts {
  const record = facts.record ?? volumeSample();
  return {
    bindings: [],
    regions: [],
    mounted: true,
    fencedAtMs: fencedAfterMs(record),
    braked: () => false,
    leaseMs: LEASE_MS,
    nowMs: 1_000_000,
    now: '2026-01-02T00:00:00.000Z',
    copyAge: () => undefined,
    users: () => 0,
    images: () => [],
    busy: () => undefined,
    unfit: () => undefined,
    stepSinceMs: 1_000_000,
    lastCopyMs: 30_000,
    ...facts,
    record,
    node: (name) => nodes.find((node) => node.name === name),
    nodes: () => nodes,
    load: (name) => load[name] ?? 0,
    seen: (name) => {
      const said = seen[name];
      if (said === undefined) return undefined;
      const role = name === record.primaryNodeId ? 'primary' : 'replica';
      return {
        volumeId: record.id,
        role,
        epoch: record.epoch,
        state: 'ready',
        measuredAt: '2026-01-02T00:00:00.000Z',
        ...said,
      };
    },
  };
}
