import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import { isExclusiveOnNode, isSingleWriter } from '../../core/plan/rollout/rollout.ts';
import { overrunMessage, withinQuota } from '../../core/scheduler/filters/quota.ts';
import { prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { TenantClusters } from './tenant-clusters.ts';

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
  const cluster = clusters.of(tenant.tenantId);
  const request = clusters.request(tenant.tenantId, spec);
  const why = withinQuota(request, cluster)
    ? isExclusiveOnNode(spec) && cluster.choose(request) === undefined
      ? 'Old instances hold what a new one needs of every node that would take it (a host port, or its anti-affinity to itself)'
      : undefined
    : `The quota leaves no room for a new instance beside the old ones (${overrunMessage(request, cluster)})`;
  if (why === undefined) return [];
  return [
    {
      code: 'update_stops_first',
      field: 'update',
      why: `${why}: each old instance is stopped before its successor starts, so that fewer run meanwhile.`,
    },
  ];
}
