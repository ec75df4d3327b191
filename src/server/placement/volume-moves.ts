import type { NodeName } from '../../core/model/ids.ts';
import { isKeptByNode, type VolumeRecord, type VolumeSwitchover } from '../../core/model/volume.ts';
import { whyNoTarget } from '../../core/plan/volumes/volume-switchover.ts';
import { SEAL_FEATURE } from '../../core/protocol/agent-protocol.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { busyWith, moveTarget, prepares, unfitFor, volumeLoads } from './switchover.ts';
import type { TenantClusters } from './tenant-clusters.ts';

export interface VolumeMove {
  readonly volumeId: string;
  readonly volume: string;
  /** Absent: it stays. */
  readonly to?: NodeName;
  readonly why: string;
}

/** What becomes of the primaries on a node when it is drained. */
export function volumeMoves(
  clusters: TenantClusters,
  tenant: TenantStore,
  node: NodeName,
): readonly VolumeMove[] {
  return tenant.list('volumes').flatMap(({ record }) => {
    if (record.primaryNodeId !== node || !isKeptByNode(record) || record.phase === 'Deleting') return [];
    return [{ volumeId: record.id, volume: record.name, ...moveOf(clusters, tenant, record, node) }];
  });
}

function moveOf(
  clusters: TenantClusters,
  tenant: TenantStore,
  record: VolumeRecord,
  node: NodeName,
): Pick<VolumeMove, 'to' | 'why'> {
  const { name, switchover, switchoverFailed } = record;
  if (switchover !== undefined) {
    return { to: switchover.to, why: `it moves as planned: ${switchoverText(switchover)}` };
  }
  if (record.class !== 'replicated')
    return { why: `it is of the class ${record.class} and on this machine only` };
  if (tenant.get('nodes', idOf('nodes', node))?.record.features?.includes(SEAL_FEATURE) !== true)
    return { why: 'the agent of this node is too old to give it away; update it' };
  if (switchoverFailed?.by === 'drain')
    return {
      why: `its move to ${switchoverFailed.to} was given up: ${switchoverFailed.why}; berth volume promote ${name} ${switchoverFailed.to} tries again`,
    };
  if (record.replicas.length === 0)
    return { why: `it has no copy on another node; berth volume add-replica ${name} NODE makes one` };
  const refused: string[] = [];
  // In the order in which one is chosen.
  const load = volumeLoads(tenant);
  const copies = record.replicas.toSorted(
    (a, b) => load(a.nodeId) - load(b.nodeId) || (a.nodeId < b.nodeId ? -1 : 1),
  );
  for (const copy of copies) {
    const why =
      whyNoTarget(copy, moveTarget(tenant, clusters, copy.nodeId)) ??
      unfitFor(tenant, clusters, record, copy.nodeId);
    if (why !== undefined) refused.push(`${copy.nodeId}: ${why}`);
    else {
      const busy = busyWith(tenant, clusters, record);
      const first = prepares(tenant, copy.nodeId) ? 'its image is fetched there, then ' : '';
      const when = busy === undefined ? '' : `, once that has ended: ${busy}`;
      return {
        to: copy.nodeId,
        why: `${first}what mounts it stops, its last copy is made, then it starts there${when}`,
      };
    }
  }
  return { why: `no copy can take over (${refused.join('; ')})` };
}

function switchoverText({ step, to, images = [] }: VolumeSwitchover): string {
  switch (step) {
    case 'preparing':
      return `${images.join(', ')} is fetched on ${to}; everything runs on meanwhile`;
    case 'stopping':
      return 'what mounts it stops';
    case 'copying':
      return 'its last copy is made';
  }
}
