import type { Quota } from '../../core/model/tenant.ts';
import type { QuotaSources, QuotaUse } from '../figures/quota-figures.ts';
import type { StorageQuota } from '../writes/storage-quota.ts';
import type { Base } from './base.ts';

/** What a tenant has used of its quota, as metrics and the interface tell it. */
export function quotaSources(base: Base, storageQuota: StorageQuota | undefined): QuotaSources {
  return {
    store: base.store,
    placed: (tenantId, quota) => placedUse(base, tenantId, quota),
    stored: (tenantId) => storageQuota?.known(tenantId) ?? [],
  };
}

/** Of a tenant without such a quota nothing is added up: its cluster may never have been asked for. */
function placedUse(
  { clusters }: Base,
  tenantId: Parameters<Base['clusters']['of']>[0],
  { containers, cpu, memoryBytes }: Quota,
): readonly QuotaUse[] {
  if (containers === undefined && cpu === undefined && memoryBytes === undefined) return [];
  const cluster = clusters.of(tenantId);
  const rows: readonly (readonly [string, number, number | undefined])[] = [
    ['containers', cluster.containers, containers],
    ['cpu', cluster.total.cpuMicros / 1_000_000, cpu],
    ['memory', cluster.total.memoryBytes, memoryBytes],
  ];
  return rows.flatMap(([resource, used, limit]) =>
    limit === undefined ? [] : [{ resource, used, limit, isOwn: true }],
  );
}
