import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { TENANTS } from '../../../core/operations/tenants.ts';
import { TOKENS } from '../../../core/operations/tokens.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { TenantStandings } from '../../figures/tenant-standing.ts';
import type { Admission } from '../../writes/admission.ts';
import type { Usage } from '../../writes/storage-quota.ts';
import { imagePolicyView, setImagePolicy, storedImagePolicy } from '../../writes/images/image-policy.ts';
import { setContainerDefaults } from '../../writes/tenants/container-defaults.ts';
import {
  createTenant,
  deleteTenant,
  setQuota,
  tenantRevision,
  tenantView,
} from '../../writes/tenants/tenants.ts';
import { createToken, revokeToken, tokenView } from '../../writes/tenants/tokens.ts';
import { booleanParameter, pageOf, pageReply, pageRequest } from '../paging.ts';
import { type Route, serve } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';

const asTenant = exactly<AnswerOf<typeof TENANTS.read>>();
const asImagePolicy = exactly<AnswerOf<typeof TENANTS.readImagePolicy>>();

async function usageOf(admission: Admission, tenantId: TenantId): Promise<{ readonly usage?: Usage }> {
  const usage = await admission.storageQuota?.usage(tenantId);
  return usage === undefined ? {} : { usage };
}

function tenantRoutes(admission: Admission, standings: TenantStandings): Route[] {
  return [
    serve(TENANTS.list, ({ query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const withStanding = booleanParameter(query, 'standing');
      if (isRejection(withStanding)) return withStanding;
      const read = admission.store
        .listGlobal('tenant-slugs', { ...page, limit: page.limit + 1 })
        .flatMap(({ id, record }) => {
          const tenant = admission.store.getGlobal('tenants', record.tenantId)?.record;
          return tenant === undefined ? [] : [{ id, tenant }];
        });
      return pageReply(
        page,
        TENANTS.list.path,
        query,
        read,
        ({ id }) => id,
        ({ tenant }) =>
          asTenant({
            ...tenantView(admission, tenant),
            ...(withStanding ? { standing: standings(tenant.id) } : {}),
          }),
      );
    }),
    serve(TENANTS.create, async ({ caller, body }) =>
      writeReply(await createTenant(admission, caller, body)),
    ),
    serve(TENANTS.read, async ({ tenant }) => ({
      status: 200,
      body: asTenant({
        ...tenantView(admission, tenant),
        ...(await usageOf(admission, tenant.id)),
        standing: standings(tenant.id),
      }),
      headers: { etag: `"${tenantRevision(admission.store, tenant.id)}"` },
    })),
    serve(TENANTS.remove, (request) =>
      guardedReply(request, (ifMatch) =>
        deleteTenant(admission, request.caller, request.params.tenant, ifMatch),
      ),
    ),
    serve(TENANTS.readImagePolicy, ({ store }) => {
      const stored = storedImagePolicy(store);
      const revision = stored?.modRevision ?? 0;
      return {
        status: 200,
        body: asImagePolicy({ ...imagePolicyView(stored?.record), revision }),
        headers: { etag: `"${revision}"` },
      };
    }),
    serve(TENANTS.setImagePolicy, (request) =>
      guardedReply(request, (ifMatch) => setImagePolicy(admission, request.caller, request.body, ifMatch)),
    ),
    serve(TENANTS.setQuota, (request) =>
      guardedReply(request, (ifMatch) =>
        setQuota(admission, request.caller, request.params.tenant, request.body, ifMatch),
      ),
    ),
    serve(TENANTS.setContainerDefaults, (request) =>
      guardedReply(request, (ifMatch) =>
        setContainerDefaults(admission, request.caller, request.params.tenant, request.body, ifMatch),
      ),
    ),
  ];
}

function tokenRoutes(admission: Admission, tokenKey: Buffer): Route[] {
  return [
    serve(TOKENS.list, ({ tenant, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const all = admission.store.listGlobal('tokens').filter(({ record }) => record.tenantId === tenant.id);
      return pageReply(
        page,
        TOKENS.list.path,
        query,
        pageOf(page, all, ({ id }) => id),
        ({ id }) => id,
        ({ record }) => tokenView(record),
      );
    }),
    serve(TOKENS.create, async ({ caller, body }) =>
      writeReply(await createToken(admission, tokenKey, caller, body)),
    ),
    serve(TOKENS.revoke, (request) =>
      guardedReply(request, (ifMatch) => revokeToken(admission, request.caller, request.params.id, ifMatch)),
    ),
  ];
}

export function accessRoutes(admission: Admission, standings: TenantStandings, tokenKey: Buffer): Route[] {
  return [...tenantRoutes(admission, standings), ...tokenRoutes(admission, tokenKey)];
}
