import type { ProcessIds } from './ids.ts';
import type { Store, TenantStore } from './store/store.ts';

const HISTORIES = [
  ['events', 'event'],
  ['audit', 'audit'],
] as const;
const PAGE = 1000;
/** Tenants asked for at once, two ranges each, so that many tenants on a distant store do not wait for one another. */
const TOGETHER = 64;

async function followTenant(tenant: TenantStore, ids: ProcessIds): Promise<void> {
  const follow = async ([history, kind]: (typeof HISTORIES)[number]): Promise<void> => {
    for (let after = ids.lowest(kind), full = true; full; ) {
      const { entries } = await tenant.rangeCold(history, '', { limit: PAGE, after });
      after = entries.at(-1)?.id ?? after;
      if (entries.length > 0) ids.follow(after);
      full = entries.length === PAGE;
    }
  };
  await Promise.all(HISTORIES.map(follow));
}

/**
 * Events and audit lines are listed in the order of their ids, and ids begin with the time. Where the clock was set back while
 * nothing ran, the newest of them are ahead of it: what is written next must still come after them (fault F-20). Only what is
 * ahead of the clock is read, which is nothing in the usual case.
 */
export async function followStoredIds(store: Store, ids: ProcessIds): Promise<void> {
  const tenantIds = store.listGlobal('tenants').map(({ record }) => record.id);
  for (let from = 0; from < tenantIds.length; from += TOGETHER)
    await Promise.all(
      tenantIds.slice(from, from + TOGETHER).map((tenantId) => followTenant(store.forTenant(tenantId), ids)),
    );
}
