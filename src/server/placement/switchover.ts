import type { DeploymentSpec } from '../../core/model/deployment.ts';
import { pinnedImage } from '../../core/model/image-reference.ts';
import type { NodeName } from '../../core/model/ids.ts';
import type { InstanceRecord } from '../../core/model/instance.ts';
import { type DeploymentName, ownerOf } from '../../core/model/owner.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';
import type { VolumeNode } from '../../core/plan/volumes/volume-facts.ts';
import { PREPARE_FEATURE } from '../../core/protocol/agent-protocol.ts';
import { explain } from '../../core/scheduler/explain.ts';
import type { PlacementRequest, VolumeRequirement } from '../../core/scheduler/request.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import { rolloutOf } from '../store/rollout-row.ts';
import type { TenantStore } from '../store/store.ts';
import { supposing } from './explanation.ts';
import type { TenantClusters } from './tenant-clusters.ts';
import { claimants } from './volume-claims.ts';

/** Instances on the primary that mount the volume, until their agent says that they are gone. */
export function volumeUsers(
  tenant: TenantStore,
  clusters: TenantClusters,
  { id, primaryNodeId }: Pick<VolumeRecord, 'id' | 'primaryNodeId'>,
): readonly InstanceRecord[] {
  if (primaryNodeId === undefined) return [];
  return clusters.instancesOn(tenant.tenantId, primaryNodeId).filter(({ deployment, specHash }) => {
    const spec = tenant.get('specs', idOf('specs', deployment, specHash))?.record;
    return spec?.volumes?.some(({ volumeId }) => volumeId === id) ?? false;
  });
}

/** What the instances on the primary run from, and their successors will. */
export function volumeImages(
  tenant: TenantStore,
  clusters: TenantClusters,
  record: VolumeRecord,
): readonly string[] {
  const images = volumeUsers(tenant, clusters, record).flatMap(({ deployment, specHash }) => {
    const spec = tenant.get('specs', idOf('specs', deployment, specHash))?.record;
    return spec === undefined ? [] : [pinnedImage(spec.image, spec.imageDigest)];
  });
  return [...new Set(images)].toSorted();
}

/** Volumes and copies that each node keeps. */
export function volumeLoads(tenant: TenantStore): (name: NodeName) => number {
  let loads: Map<NodeName, number> | undefined;
  return (name) => {
    if (loads === undefined) {
      loads = new Map();
      for (const { record } of tenant.list('volumes')) {
        const kept = [record.primaryNodeId, ...record.replicas.map(({ nodeId }) => nodeId)];
        for (const node of kept) if (node !== undefined) loads.set(node, (loads.get(node) ?? 0) + 1);
      }
    }
    return loads.get(name) ?? 0;
  };
}

/** Whether the agent of the node fetches images before a volume comes. */
export function prepares(tenant: TenantStore, node: NodeName): boolean {
  const features = tenant.get('nodes', idOf('nodes', node))?.record.features;
  return features?.includes(PREPARE_FEATURE) === true;
}

/** A node as a planned move sees it; undefined: it is not enrolled. */
export function moveTarget(
  tenant: TenantStore,
  clusters: TenantClusters,
  name: NodeName,
): Pick<VolumeNode, 'condition' | 'schedulable' | 'draining' | 'reserved'> | undefined {
  const record = tenant.get('nodes', idOf('nodes', name))?.record;
  if (record === undefined) return undefined;
  const liveness = tenant.get('node-liveness', idOf('node-liveness', name))?.record;
  return {
    condition: liveness?.status ?? 'unknown',
    schedulable: record.schedulable,
    draining: record.draining === true,
    reserved: clusters.isReserved(tenant.tenantId, name),
  };
}

/** What a planned move would cut off: a run of a job is not begun again, and a rollout is judged by what it started. */
export function busyWith(
  tenant: TenantStore,
  clusters: TenantClusters,
  record: VolumeRecord,
): string | undefined {
  for (const { deployment } of volumeUsers(tenant, clusters, record)) {
    const { kind, name } = ownerOf(deployment);
    if (kind === 'job') return `a run of job ${name} has it mounted, which is not cut off`;
    if (rolloutOf(tenant, idOf('rollouts', name))?.record.state === 'progressing')
      return `a rollout of ${name} is under way`;
  }
  return undefined;
}

/** Why a deployment that mounts the volume could not run on the node, were the volume there; undefined: all could. */
export function unfitFor(
  tenant: TenantStore,
  clusters: TenantClusters,
  volume: VolumeRecord,
  node: NodeName,
): string | undefined {
  for (const owner of claimants(tenant, volume.id)) {
    const { kind, name } = ownerOf(owner);
    const spec = kind === 'deployment' ? deploymentSpec(tenant, name) : undefined;
    const why = spec && unfit(tenant, clusters, volume, node, spec);
    if (why !== undefined) return `${name} could not run there: ${why}`;
  }
  return undefined;
}

function deploymentSpec(tenant: TenantStore, name: DeploymentName): DeploymentSpec | undefined {
  const spec = tenant.get('deployments', idOf('deployments', name))?.record.spec;
  return spec === undefined || spec.replicas === 0 ? undefined : spec;
}

function unfit(
  tenant: TenantStore,
  clusters: TenantClusters,
  volume: VolumeRecord,
  node: NodeName,
  spec: DeploymentSpec,
): string | undefined {
  const cluster = clusters.of(tenant.tenantId);
  const moving = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', spec.name))
    .flatMap(({ record }) => (record.nodeId === volume.primaryNodeId ? [record.id] : []));
  const request: PlacementRequest = {
    ...clusters.request(tenant.tenantId, spec),
    volumes: (spec.volumes ?? []).flatMap(({ volumeId }) => requirement(tenant, volume, node, volumeId)),
  };
  return supposing(cluster, moving, () => {
    if (cluster.choose(request) !== undefined) return undefined;
    const { nodes, summary } = explain(cluster, request);
    const reasons = nodes.find((one) => one.node === node)?.reasons ?? [];
    return reasons.map(({ message }) => message).join('; ') || summary;
  });
}

/** Where its volumes are once this one has moved: those beside it that can move along do. */
function requirement(
  tenant: TenantStore,
  moving: VolumeRecord,
  node: NodeName,
  volumeId: string,
): readonly VolumeRequirement[] {
  const other = tenant.get('volumes', idOf('volumes', volumeId))?.record;
  if (other?.primaryNodeId === undefined) return [];
  const access = other.class === 'replicated' ? 'write' : 'local';
  const follows =
    other.id === moving.id ||
    (other.primaryNodeId === moving.primaryNodeId &&
      other.switchover === undefined &&
      other.replicas.some((copy) => copy.nodeId === node && copy.state === 'live'));
  const at = follows ? node : (other.switchover?.to ?? other.primaryNodeId);
  return [{ volume: other.name, access, nodes: [at] }];
}
