import { SEAL_FEATURE } from '../../../core/protocol/agent-protocol.ts';
import type { CopyAges } from '../../../core/protocol/peer-messages.ts';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import type { NodeLiveness, NodeRecord } from '../../../core/model/node.ts';
import type { Region, UnstatedCountry } from '../../../core/model/region.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { LIVENESS_TIMINGS } from '../../../core/plan/liveness/node-liveness.ts';
import type { VolumeFacts, VolumeNode } from '../../../core/plan/volumes/volume-facts.ts';
import type { TenantClusters } from '../../placement/tenant-clusters.ts';
import {
  busyWith,
  prepares,
  unfitFor,
  volumeImages,
  volumeLoads,
  volumeUsers,
} from '../../placement/switchover.ts';
import { bindingsOf, claimants } from '../../placement/volume-claims.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { RepeatedLeases } from '../../runtime/volume-signs.ts';
import type { VolumeMemory } from './volume-memory.ts';

function conditionOf(liveness: NodeLiveness | undefined): VolumeNode['condition'] {
  if (liveness === undefined) return 'unknown';
  if (liveness.status === 'ready') return 'ready';
  return liveness.lost === true ? 'lost' : 'failed';
}

function volumeNode(tenant: TenantStore, clusters: TenantClusters, record: NodeRecord): VolumeNode {
  return {
    name: record.name,
    condition: conditionOf(tenant.get('node-liveness', idOf('node-liveness', record.name))?.record),
    schedulable: record.schedulable,
    draining: record.draining === true,
    seals: record.features?.includes(SEAL_FEATURE) === true,
    prepares: prepares(tenant, record.name),
    labels: record.labels,
    engines: record.volumeEngines ?? [],
    reserved: clusters.isReserved(tenant.tenantId, record.name),
  };
}

/** As for instances: losses that are settled do not count, and of the rest most must answer. */
function isBraked(nodes: readonly VolumeNode[]): boolean {
  const undecided = nodes.filter(({ condition }) => condition === 'ready' || condition === 'failed');
  const failing = undecided.filter(({ condition }) => condition === 'failed').length;
  return failing > undecided.length * LIVENESS_TIMINGS.brakeShare;
}

export interface VolumeSettings {
  readonly leaseMs: number;
  /** How long the last copy of a planned move may take. */
  readonly lastCopyMs: number;
  /** Whether the lease of this process is certainly still valid for the others; absent: it is the only one. */
  readonly certain?: () => boolean;
  /** What another control plane knows of the copies of a primary that was connected to it last; absent: there is no other. */
  readonly agesElsewhere?: (tenantId: TenantId, node: NodeName) => Promise<readonly CopyAges[] | undefined>;
  readonly regions: readonly Region[];
  readonly unstated?: UnstatedCountry;
  /** Absent: leases are given in sessions alone. */
  readonly repeatedLeases?: RepeatedLeases;
}

export function readVolumeFacts(
  tenant: TenantStore,
  record: VolumeRecord,
  memory: VolumeMemory,
  { leaseMs, lastCopyMs, regions, unstated }: VolumeSettings,
  clusters: TenantClusters,
  at: { readonly nowMs: number; readonly now: string },
): VolumeFacts {
  const { tenantId } = tenant;
  const nodes = (): readonly VolumeNode[] =>
    tenant.list('nodes').map((stored) => volumeNode(tenant, clusters, stored.record));
  return {
    record,
    node: (name) => {
      const stored = tenant.get('nodes', idOf('nodes', name));
      return stored === undefined ? undefined : volumeNode(tenant, clusters, stored.record);
    },
    nodes,
    load: volumeLoads(tenant),
    seen: (name) =>
      memory.seen(tenantId, record.id, name) ??
      tenant.get('volume-observations', idOf('volume-observations', record.id, name))?.record,
    copyAge: (name) => memory.copyAge(tenantId, record, name),
    bindings: bindingsOf(tenant, record.id),
    regions,
    ...(unstated && { unstated }),
    mounted: claimants(tenant, record.id).length > 0,
    fencedAtMs: memory.fencedAtMs(tenantId, record),
    braked: () => isBraked(nodes()),
    leaseMs,
    users: () => volumeUsers(tenant, clusters, record).length,
    images: () => volumeImages(tenant, clusters, record),
    busy: () => busyWith(tenant, clusters, record),
    unfit: (name) => unfitFor(tenant, clusters, record, name),
    stepSinceMs: memory.stepSinceMs(tenantId, record, at.nowMs),
    lastCopyMs,
    ...at,
  };
}
