import { defaultStock } from '../../core/model/quota.ts';
import type { Admission } from '../writes/admission.ts';
import { ArchiveTrim } from '../writes/archive-trim.ts';
import { TenantEraser } from '../writes/tenants/erase-tenants.ts';
import { StorageQuota } from '../writes/storage-quota.ts';
import { parseSchedule } from '../cron.ts';
import { createImageCheck } from '../registry/check.ts';
import type { Controllers } from '../reconcile/index.ts';
import type { Base } from './base.ts';

function callRefusal({ isBlocked }: Base['hooksDialer'], url: string): string | undefined {
  if (!URL.canParse(url)) return 'This is no URL.';
  return isBlocked(new URL(url))
    ? 'The control plane does not call this address: plain HTTP, private addresses and ports of data stores are closed unless the platform lists the host.'
    : undefined;
}

export function composeAdmission(
  base: Base,
  { planFirst }: Pick<Controllers, 'planFirst'>,
): Admission & { readonly eraser: TenantEraser; readonly storageQuota: StorageQuota } {
  const { config, log, store, clock, ids, journal, clusters, limits, secrets, dialer, credentials } = base;
  return {
    store,
    storageQuota: new StorageQuota({
      store,
      defaults: defaultStock(config.quotas, base.heap.limitBytes()),
      brake: base.brake,
      archiveTrim: new ArchiveTrim(store, journal),
    }),
    eraser: new TenantEraser({
      store,
      secrets: secrets.store,
      journal,
      clock,
      warn: (details, message) => log.warn(details, message),
    }),
    clock,
    startedMs: clock.monotonicMs(),
    ids,
    journal,
    clusters,
    firstPlan: planFirst,
    limits,
    containerDefaults: config.containerDefaults,
    prefixes: config.network,
    parseSchedule,
    imageCheck: createImageCheck({ dialer, credentials }),
    mayCall: (url) => callRefusal(base.hooksDialer, url),
    secrets: { store: secrets.store, ...base.material },
    residency: {
      enforcement: config.residencyEnforcement,
      regions: config.regions,
      unstated: config.residencyUnstated,
    },
  };
}
