import type { Warning } from '../../core/model/announcement.ts';
import type { Residency, Workload } from '../../core/model/deployment.ts';
import type { NodeName } from '../../core/model/ids.ts';
import { describeOwner } from '../../core/model/owner.ts';
import type { ResidencyTerms } from '../../core/model/region.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';
import type { VolumeResidencyConflict } from '../../core/rules/volume-residency.ts';
import {
  constrainsResidency,
  describeResidency,
  satisfiesResidency,
} from '../../core/scheduler/residency.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { bindingsOf, claimants } from './volume-claims.ts';

type Mounting = Pick<Workload, 'name' | 'volumes' | 'placement'>;

function excludes(
  tenant: TenantStore,
  terms: ResidencyTerms,
  residency: Residency | undefined,
  node: NodeName,
): boolean {
  if (!constrainsResidency(residency)) return false;
  const labels = tenant.get('nodes', idOf('nodes', node))?.record.labels;
  return labels !== undefined && !satisfiesResidency(labels, residency, terms.regions, terms.unstated);
}

function replicated(tenant: TenantStore, volumeId: string): VolumeRecord | undefined {
  const volume = tenant.get('volumes', idOf('volumes', volumeId))?.record;
  return volume?.class === 'replicated' && volume.phase !== 'Deleting' ? volume : undefined;
}

/**
 * The first copy that a spec would take from another deployment or job, because its residency excludes the node; or, for a mount
 * that is new, the residency of another one that leaves no copy which could take over.
 */
export function residencyConflict(
  tenant: TenantStore,
  terms: ResidencyTerms,
  spec: Mounting,
  before: Mounting | undefined,
): VolumeResidencyConflict | undefined {
  for (const [index, { volumeId }] of (spec.volumes ?? []).entries()) {
    const volume = replicated(tenant, volumeId);
    const [other] = claimants(tenant, volumeId).filter((name) => name !== spec.name);
    if (volume === undefined || other === undefined) continue;
    const mounted = before?.volumes?.some((mount) => mount.volumeId === volumeId) ?? false;
    const residency = spec.placement?.residency;
    const earlier = mounted ? before?.placement?.residency : undefined;
    const copies = volume.replicas.map(({ nodeId }) => nodeId);
    const self = describeOwner(spec.name);
    const taken = copies.find(
      (node) => excludes(tenant, terms, residency, node) && !excludes(tenant, terms, earlier, node),
    );
    if (taken !== undefined && residency !== undefined) {
      const asked = describeResidency(residency);
      const consumer = describeOwner(other);
      return { index, kind: 'excludes', self, other: consumer, volume: volume.name, nodes: [taken], asked };
    }
    if (mounted || copies.length === 0) continue;
    for (const { owner, active, residency: binding } of bindingsOf(tenant, volumeId)) {
      if (!active || owner === self) continue;
      if (!copies.every((node) => excludes(tenant, terms, binding, node))) continue;
      const asked = describeResidency(binding);
      return { index, kind: 'excluded', self, other: owner, volume: volume.name, nodes: copies, asked };
    }
  }
  return undefined;
}

/** What a spec that is accepted means for the volumes that it mounts. */
export function volumeWarnings(
  tenant: TenantStore,
  terms: ResidencyTerms,
  spec: Mounting & Pick<Workload, 'nodeId'>,
): Warning[] {
  const residency = spec.placement?.residency;
  return (spec.volumes ?? []).flatMap(({ volumeId, readOnly }, index): Warning[] => {
    const volume = replicated(tenant, volumeId);
    const primary = volume?.primaryNodeId;
    if (volume === undefined || primary === undefined) return [];
    const warnings: Warning[] = [];
    if (readOnly && spec.nodeId !== undefined && spec.nodeId !== primary) {
      const why = `Volume ${volume.name} is read on its primary ${primary}, not on copies; nodeId ${spec.nodeId} holds the reader back until it is left out.`;
      warnings.push({ code: 'volume_read_on_primary', field: 'nodeId', why });
    }
    if (residency === undefined) return warnings;
    const asked = describeResidency(residency);
    if (excludes(tenant, terms, residency, primary)) {
      const why = `The primary of volume ${volume.name} is on ${primary}, which ${asked} excludes; this waits until the primary is on another node.`;
      warnings.push({ code: 'volume_primary_excluded', field: `volumes[${index}].volumeId`, why });
    }
    const lost = volume.replicas
      .map(({ nodeId }) => nodeId)
      .filter((node) => excludes(tenant, terms, residency, node));
    if (lost.length > 0) {
      const fate = readOnly ? 'kept, but cannot take over' : 'given up once the primary is where this runs';
      const why = `Copies of volume ${volume.name} on ${lost.join(', ')} are excluded by ${asked}: they are ${fate}.`;
      warnings.push({ code: 'volume_copies_misplaced', field: 'placement.residency', why });
    }
    return warnings;
  });
}
