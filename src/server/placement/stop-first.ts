import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId } from '../../core/model/ids.ts';
import { budgetOf, isExclusiveOnNode, isSingleWriter } from '../../core/plan/rollout/rollout.ts';
import type { ClusterState } from '../../core/scheduler/cluster.ts';
import { overrunMessage, withinQuota } from '../../core/scheduler/filters/quota.ts';
import type { PlacementRequest } from '../../core/scheduler/request.ts';
import { prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { supposing } from './explanation.ts';
import type { TenantClusters } from './tenant-clusters.ts';

/** Of a deployment that is updated. */
export interface Running {
  /** Those that leave. */
  readonly old: readonly InstanceId[];
  /** How many stay. */
  readonly kept: number;
}

/** Why a successor cannot run beside what is there, and whether an old one stops for it or the update waits. */
export interface NoRoomBeside {
  readonly stopsFirst: boolean;
  readonly why: string;
}

/** Undefined: there is room, or nothing that stops would help. */
export function noRoomBeside(
  cluster: ClusterState,
  request: PlacementRequest,
  spec: DeploymentSpec,
  running: Running,
): NoRoomBeside | undefined {
  const hasQuota = (): boolean => withinQuota(request, cluster);
  if (!hasQuota()) {
    const why = `the quota leaves no room for a new instance beside the old ones (${overrunMessage(request, cluster)})`;
    return { stopsFirst: supposing(cluster, goingFirst(spec, running), hasQuota), why };
  }
  return isExclusiveOnNode(spec) && cluster.choose(request) === undefined
    ? {
        stopsFirst: true,
        why: `old instances hold ${heldText(spec)} on every node that would take a new one`,
      }
    : undefined;
}

/** As many as stop before there is a successor: those beyond the minimum, and the one that makes room. */
function goingFirst({ replicas, update }: DeploymentSpec, { old, kept }: Running): readonly InstanceId[] {
  const { minAvailable } = budgetOf(replicas, update);
  return old.slice(0, Math.max(0, kept + old.length - minAvailable) + 1);
}

const STOPS = 'each old instance is stopped before its successor starts, so that fewer run meanwhile';
const WAITS =
  'stopping an old one would not make room either, so the update waits, and what runs stays, until other instances stop, replicas is lowered or the quota is raised';

function heldText({ name, ports, placement }: DeploymentSpec): string {
  const held = (ports ?? []).flatMap(({ host }) => (host === undefined ? [] : [`host port ${host}`]));
  const apart = placement?.antiAffinity?.includes(name) ?? false;
  return [...held, ...(apart ? ['its anti-affinity to itself'] : [])].join(', ');
}

/** What an update must say when there is no room for a successor beside what runs: each old instance then stops first. */
export function stopFirstWarnings(
  clusters: TenantClusters,
  tenant: TenantStore,
  { spec, specHash }: Pick<DeploymentRecord, 'spec' | 'specHash'>,
): readonly Warning[] {
  if (spec.replicas === 0 || isSingleWriter(spec)) return [];
  const running = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', spec.name))
    .filter(({ record }) => record.wanted === 'run');
  const old = running.flatMap(({ record }) => (record.specHash === specHash ? [] : [record.id]));
  if (old.length === 0) return [];
  const noRoom = clusters.supposedIn(tenant, () =>
    noRoomBeside(clusters.of(tenant.tenantId), clusters.request(tenant.tenantId, spec, tenant), spec, {
      old,
      kept: running.length - old.length,
    }),
  );
  if (noRoom === undefined) return [];
  const { stopsFirst, why } = noRoom;
  return [
    {
      code: stopsFirst ? 'update_stops_first' : 'update_waits',
      field: 'update',
      why: `${why.charAt(0).toUpperCase()}${why.slice(1)}: ${stopsFirst ? STOPS : WAITS}.`,
    },
  ];
}
