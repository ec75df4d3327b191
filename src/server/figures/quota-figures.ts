import type { TenantId } from '../../core/model/ids.ts';
import type { Quota } from '../../core/model/tenant.ts';
import type { Store } from '../store/store.ts';
import { fairShare } from './fair-share.ts';
import { type Family, family, type Sample } from './family.ts';
import { MAX_NAMED } from './tenant-figures.ts';

/** From this share of a limit on that nobody set for the tenant it is shown all the same. */
const NEAR = 0.5;

export interface QuotaUse {
  /** As the quota names it: `containers`, `records.deployments`. */
  readonly resource: string;
  readonly used: number;
  readonly limit: number;
  /** The tenant's quota says it; otherwise it is the platform's default. */
  readonly isOwn: boolean;
}

export interface QuotaSources {
  readonly store: Store;
  /** What is placed, against the quota. */
  readonly placed: (tenantId: TenantId, quota: Quota) => readonly QuotaUse[];
  /** What is stored, as far as it is known without counting. */
  readonly stored: (tenantId: TenantId) => readonly QuotaUse[];
}

/** Of one tenant: limits that were set for it, and those of the platform that it has used half of. */
export function quotaUses({ store, placed, stored }: QuotaSources, tenantId: TenantId): readonly QuotaUse[] {
  const quota = store.forTenant(tenantId).get('quota', 'quota')?.record ?? {};
  return [...placed(tenantId, quota), ...stored(tenantId)].filter(
    ({ used, limit, isOwn }) => isOwn || used >= limit * NEAR,
  );
}

/** Limits that were set for a tenant, and those of the platform that it has used half of. */
export function quotaFamilies(
  sources: QuotaSources,
  owns: (tenantId: TenantId) => boolean,
): readonly Family[] {
  const rows = () => {
    const tenants = sources.store.listGlobal('tenants').filter(({ record }) => owns(record.id));
    const shown = tenants.map(({ record: { id, slug } }) => {
      const uses = quotaUses(sources, id);
      return { of: uses.map((use) => ({ slug, use })), size: uses.length };
    });
    return fairShare(shown, MAX_NAMED).taken;
  };
  const figure = (name: string, help: string, value: (use: QuotaUse) => number): Family =>
    family({
      name,
      help,
      labels: ['tenant', 'resource'],
      read: () =>
        rows().map(
          ({ slug, use }): Sample<'tenant' | 'resource'> => [
            { tenant: slug, resource: use.resource },
            value(use),
          ],
        ),
    });
  return [
    figure('berth_quota_used', 'What a tenant has used of a quota.', ({ used }) => used),
    figure(
      'berth_quota_limit',
      "What the quota allows: those set for the tenant, and the platform's own once half of one is used.",
      ({ limit }) => limit,
    ),
  ];
}
