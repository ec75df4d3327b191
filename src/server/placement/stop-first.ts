import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import { isExclusiveOnNode, isSingleWriter } from '../../core/plan/rollout/rollout.ts';
import type { ClusterState } from '../../core/scheduler/cluster.ts';
import { overrunMessage, withinQuota } from '../../core/scheduler/filters/quota.ts';
import type { PlacementRequest } from '../../core/scheduler/request.ts';
import { prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { TenantClusters } from './tenant-clusters.ts';

/** Why a successor cannot run beside what is there; undefined: it can, or nothing that stops would help it. */
export function stopFirstReason(
  cluster: ClusterState,
  request: PlacementRequest,
  spec: DeploymentSpec,
): string | undefined {
  if (!withinQuota(request, cluster))
    return `the quota leaves no room for a new instance beside the old ones (${overrunMessage(request, cluster)})`;
  return isExclusiveOnNode(spec) && cluster.choose(request) === undefined
    ? `old instances hold ${heldText(spec)} on every node that would take a new one`
    : undefined;
}

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
  const replaced = tenant
    .collection('instances')
    .listUnder(prefixOf('instances', spec.name))
    .some(({ record }) => record.wanted === 'run' && record.specHash !== specHash);
  if (!replaced) return [];
  const why = clusters.supposedIn(tenant, () =>
    stopFirstReason(clusters.of(tenant.tenantId), clusters.request(tenant.tenantId, spec, tenant), spec),
  );
  if (why === undefined) return [];
  return [
    {
      code: 'update_stops_first',
      field: 'update',
      why: `${why.charAt(0).toUpperCase()}${why.slice(1)}: each old instance is stopped before its successor starts, so that fewer run meanwhile.`,
    },
  ];
}
