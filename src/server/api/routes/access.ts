import {
  imagePolicy,
  imagePolicyWritten,
  tenant as tenantAnswer,
  tenantWritten,
  token,
  tokenWritten,
} from '../../../core/contract/answers/access.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import type { Usage } from '../../admission/room.ts';
import {
  imagePolicyBody,
  imagePolicyView,
  setImagePolicy,
  storedImagePolicy,
} from '../../admission/image-policy.ts';
import { containerDefaultsBody, setContainerDefaults } from '../../admission/container-defaults.ts';
import {
  createTenant,
  deleteTenant,
  quotaBody,
  setQuota,
  tenantBody,
  tenantRevision,
  tenantView,
} from '../../admission/tenants.ts';
import { createToken, revokeToken, tokenBody, tokenView } from '../../admission/tokens.ts';
import { pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Route, route } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';

async function usageOf(admission: Admission, tenantId: TenantId): Promise<{ readonly usage?: Usage }> {
  const usage = await admission.room?.usage(tenantId);
  return usage === undefined ? {} : { usage };
}

function tenantRoutes(admission: Admission): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/tenants',
      summary: 'List tenants',
      tag: 'Tenants',
      permission: 'tenants.manage',
      tenant: 'platform',
      query: LIST_QUERY,
      codes: [],
      success: { status: 200, description: 'Tenants, by slug.', answer: listOf(tenantAnswer) },
      handle: ({ query }) => {
        const page = pageRequest(query);
        if (isRejection(page)) return page;
        const read = admission.store
          .listGlobal('tenant-slugs', { ...page, limit: page.limit + 1 })
          .flatMap(({ id, record }) => {
            const tenant = admission.store.getGlobal('tenants', record.tenantId)?.record;
            return tenant === undefined ? [] : [{ id, tenant }];
          });
        return pageReply(
          page,
          '/api/v1/tenants',
          query,
          read,
          ({ id }) => id,
          ({ tenant }) => tenantView(admission, tenant),
        );
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/tenants',
      summary: 'Create a tenant',
      tag: 'Tenants',
      permission: 'tenants.manage',
      tenant: 'platform',
      body: { shape: tenantBody },
      codes: ['tenant_name_invalid', 'tenant_already_exists'],
      success: { status: 201, description: 'The tenant.', answer: tenantWritten },
      handle: async ({ caller, body }) =>
        writeReply(await createTenant(admission, caller, body as Draft<typeof tenantBody>)),
    }),
    route({
      method: 'GET',
      path: '/api/v1/tenants/{tenant}',
      summary: 'Read a tenant, its quota and what bounds its containers',
      tag: 'Tenants',
      permission: 'read',
      tenant: 'path',
      codes: ['tenant_not_found'],
      success: { status: 200, description: 'The tenant.', answer: tenantAnswer },
      handle: async ({ tenant }) => ({
        status: 200,
        body: { ...tenantView(admission, tenant), ...(await usageOf(admission, tenant.id)) },
        headers: { etag: `"${tenantRevision(admission.store, tenant.id)}"` },
      }),
    }),
    route({
      method: 'DELETE',
      path: '/api/v1/tenants/{tenant}',
      summary: 'Delete a tenant that has nothing left',
      tag: 'Tenants',
      permission: 'tenants.manage',
      tenant: 'platform',
      codes: ['tenant_not_found', 'tenant_in_use', 'revision_mismatch', 'header_invalid'],
      success: { status: 200, description: 'Deleted.', answer: tenantWritten },
      handle: (request) =>
        guardedReply(request, (ifMatch) =>
          deleteTenant(admission, request.caller, request.params['tenant'] ?? '', ifMatch),
        ),
    }),
    route({
      method: 'GET',
      path: '/api/v1/tenants/{tenant}/image-policy',
      summary: 'Read which images have to be signed, and by whom',
      tag: 'Tenants',
      permission: 'read',
      tenant: 'path',
      codes: ['tenant_not_found'],
      success: { status: 200, description: 'The policy; empty where none is set.', answer: imagePolicy },
      handle: ({ store }) => {
        const stored = storedImagePolicy(store);
        const revision = stored?.modRevision ?? 0;
        return {
          status: 200,
          body: { ...imagePolicyView(stored?.record), revision },
          headers: { etag: `"${revision}"` },
        };
      },
    }),
    route({
      method: 'PUT',
      path: '/api/v1/tenants/{tenant}/image-policy',
      summary: 'Replace which images have to be signed, and by whom',
      tag: 'Tenants',
      permission: 'policy.manage',
      tenant: 'path',
      body: { shape: imagePolicyBody, unchecked: true },
      codes: [
        'tenant_not_found',
        'image_policy_invalid',
        'field_unknown',
        'revision_mismatch',
        'header_invalid',
      ],
      success: { status: 200, description: 'The policy.', answer: imagePolicyWritten },
      handle: (request) =>
        guardedReply(request, (ifMatch) => setImagePolicy(admission, request.caller, request.body, ifMatch)),
    }),
    route({
      method: 'PUT',
      path: '/api/v1/tenants/{tenant}/quota',
      summary: 'Replace the quota of a tenant',
      tag: 'Tenants',
      permission: 'tenants.manage',
      tenant: 'platform',
      body: { shape: quotaBody, unchecked: true },
      codes: ['tenant_not_found', 'quota_invalid', 'field_unknown', 'revision_mismatch', 'header_invalid'],
      success: { status: 200, description: 'The tenant with its quota.', answer: tenantWritten },
      handle: (request) =>
        guardedReply(request, (ifMatch) =>
          setQuota(admission, request.caller, request.params['tenant'] ?? '', request.body, ifMatch),
        ),
    }),
    route({
      method: 'PUT',
      path: '/api/v1/tenants/{tenant}/container-defaults',
      summary: 'Replace what bounds new containers of a tenant by default',
      tag: 'Tenants',
      permission: 'tenants.manage',
      tenant: 'platform',
      body: { shape: containerDefaultsBody, unchecked: true },
      codes: [
        'tenant_not_found',
        'container_defaults_invalid',
        'field_unknown',
        'revision_mismatch',
        'header_invalid',
      ],
      success: { status: 200, description: 'The tenant with its defaults.', answer: tenantWritten },
      handle: (request) =>
        guardedReply(request, (ifMatch) =>
          setContainerDefaults(
            admission,
            request.caller,
            request.params['tenant'] ?? '',
            request.body,
            ifMatch,
          ),
        ),
    }),
  ];
}

function tokenRoutes(admission: Admission, tokenKey: Buffer): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/tokens',
      summary: 'List the tokens of the tenant; never their secrets',
      tag: 'Tokens',
      permission: 'tokens.manage',
      tenant: 'credential',
      query: LIST_QUERY,
      codes: [],
      success: { status: 200, description: 'Tokens, by id.', answer: listOf(token) },
      handle: ({ tenant, query }) => {
        const page = pageRequest(query);
        if (isRejection(page)) return page;
        const read = admission.store
          .listGlobal('tokens')
          .filter(
            ({ id, record }) =>
              record.tenantId === tenant.id && (page.after === undefined || id > page.after),
          );
        return pageReply(
          page,
          '/api/v1/tokens',
          query,
          read.slice(0, page.limit + 1),
          ({ id }) => id,
          ({ record }) => tokenView(record),
        );
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/tokens',
      summary: 'Create a token; it is shown in this answer and never again',
      tag: 'Tokens',
      permission: 'tokens.manage',
      tenant: 'credential',
      body: { shape: tokenBody },
      codes: ['token_invalid'],
      success: { status: 201, description: 'The token.', answer: tokenWritten },
      handle: async ({ caller, body }) =>
        writeReply(await createToken(admission, tokenKey, caller, body as Draft<typeof tokenBody>)),
    }),
    route({
      method: 'DELETE',
      path: '/api/v1/tokens/{id}',
      summary: 'Revoke a token',
      tag: 'Tokens',
      permission: 'tokens.manage',
      tenant: 'credential',
      codes: ['token_not_found', 'revision_mismatch', 'header_invalid'],
      success: { status: 200, description: 'Revoked.', answer: tokenWritten },
      handle: (request) =>
        guardedReply(request, (ifMatch) =>
          revokeToken(admission, request.caller, request.params['id'] ?? '', ifMatch),
        ),
    }),
  ];
}

export function accessRoutes(admission: Admission, tokenKey: Buffer): Route[] {
  return [...tenantRoutes(admission), ...tokenRoutes(admission, tokenKey)];
}
