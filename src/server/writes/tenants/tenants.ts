import { charactersIn } from '../../../core/model/characters.ts';
import type { tenant as tenantAnswer } from '../../../core/contract/answers/access.ts';
import { MAX_DISPLAY_NAME, quotaBody, type tenantBody } from '../../../core/contract/access-bodies.ts';
import { type Answer, exactly, type Exactly } from '../../../core/schema/shape.ts';
import { type Draft, readBody, type Sent } from '../../../core/schema/shape.ts';
import type { ContainerDefaults } from '../../../core/model/container-defaults.ts';
import { type TenantId, tenantId } from '../../../core/model/ids.ts';
import { QUOTA_MEASURES } from '../../../core/model/quota.ts';
import { PLATFORM_SLUG, type Quota, type Tenant } from '../../../core/model/tenant.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { isName } from '../../../core/rules/name.ts';
import type { TENANTS } from '../../../core/operations/tenants.ts';
import { findTenant, tenantNotFound } from '../../access/authenticate.ts';
import type { Store } from '../../store/store.ts';
import { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

/** Its usage is in the answer for a single tenant only. */
type TenantAnswer = Omit<Answer<typeof tenantAnswer>, 'usage' | 'standing'>;
const asTenant = exactly<TenantAnswer>();

/** As it is stored, but for what a write is about to change. */
export function tenantView(
  { store, containerDefaults }: Pick<Admission, 'store' | 'containerDefaults'>,
  tenant: Tenant,
  changed: { readonly quota?: Quota; readonly containerDefaults?: Partial<ContainerDefaults> } = {},
): Exactly<TenantAnswer> {
  const own = store.forTenant(tenant.id);
  const set = changed.containerDefaults ?? own.get('container-defaults', 'defaults')?.record ?? {};
  return asTenant({
    ...tenant,
    quota: changed.quota ?? own.get('quota', 'quota')?.record ?? {},
    containerDefaults: { set, effective: { ...containerDefaults, ...set } },
  });
}

/** A tenant is shown with its quota and defaults, so its revision is that of whichever changed last. */
export function tenantRevision(store: Store, id: TenantId): number {
  const quota = store.forTenant(id).get('quota', 'quota')?.modRevision ?? 0;
  const defaults = store.forTenant(id).get('container-defaults', 'defaults')?.modRevision ?? 0;
  return Math.max(store.getGlobal('tenants', id)?.modRevision ?? 0, quota, defaults);
}

const created = acceptedOf<typeof TENANTS.create>();
const changed = acceptedOf<typeof TENANTS.remove>();
const ANNOUNCED = { alterations: [], warnings: [], removed: [] } as const;

export async function createTenant(
  admission: Admission,
  caller: Caller,
  body: Draft<typeof tenantBody>,
): Promise<Outcome<typeof TENANTS.create>> {
  const { slug, name } = body;
  if (slug === undefined || !isName(slug)) {
    return reject('tenant_name_invalid', {
      field: 'slug',
      received: received(slug),
      why: 'A tenant is named by a lowercase DNS label.',
    });
  }
  if (name !== undefined && (name === '' || charactersIn(name) > MAX_DISPLAY_NAME)) {
    return reject('tenant_name_invalid', {
      field: 'name',
      received: received(name),
      expected: `1 to ${MAX_DISPLAY_NAME} characters`,
      why: 'The display name is empty or too long.',
    });
  }
  return commitAttempts(admission, caller, () => {
    const taken = admission.store.getGlobal('tenant-slugs', slug);
    if (taken !== undefined) {
      return reject('tenant_already_exists', {
        field: 'slug',
        received: received(slug),
        why: 'A tenant of this slug exists.',
      });
    }
    const tenant: Tenant = {
      id: admission.ids.tenant(),
      slug,
      name: name ?? slug,
      createdAt: admission.clock.now().toISOString(),
    };
    const transaction = new Transaction(tenant.id)
      .expectGlobal('tenant-slugs', slug, undefined)
      .putGlobal('tenant-slugs', slug, { tenantId: tenant.id })
      .putGlobal('tenants', tenant.id, tenant);
    admission.journal.audit(transaction, tenant.id, caller, 'tenant.created', { kind: 'Tenant', name: slug });
    const alterations =
      name === undefined
        ? [{ field: 'name', from: '(absent)', to: slug, why: 'the slug serves as display name' }]
        : [];
    return {
      answer: created(201, { ...tenantView(admission, tenant), ...ANNOUNCED, alterations }),
      transaction,
    };
  });
}

/**
 * Refused while anything of the tenant runs; then everything of it goes. Without the tenant's record its tokens are good for nothing
 * from the first commit on, however many there are; they are erased with the rest.
 */
export async function deleteTenant(
  admission: Admission,
  caller: Caller,
  idOrSlug: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof TENANTS.remove>> {
  const outcome = await commitAttempts(admission, caller, () => {
    const tenant = findTenant(admission.store, idOrSlug);
    if (tenant === undefined) return tenantNotFound(admission.store, 'tenant', idOrSlug);
    const rejection =
      revisionRejection(ifMatch, tenantRevision(admission.store, tenant.id)) ??
      inUse(admission, tenant, idOrSlug);
    if (rejection) return rejection;
    const stored = admission.store.getGlobal('tenants', tenant.id);
    const transaction = caller.tenant.transaction().expectGlobal('tenants', tenant.id, stored);
    transaction
      .deleteGlobal('tenants', tenant.id)
      .deleteGlobal('tenant-slugs', tenant.slug)
      .putGlobal('tenant-erasures', tenant.id, {
        requestedAt: admission.clock.now().toISOString(),
        slug: tenant.slug,
      });
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'tenant.deleted', {
      kind: 'Tenant',
      name: tenant.slug,
    });
    return { answer: changed(200, { ...tenantView(admission, tenant), ...ANNOUNCED }), transaction };
  });
  if (isRejection(outcome)) return outcome;
  await admission.eraser.eraseAll();
  const problem = admission.eraser.problemOf(tenantId(outcome.body.id));
  if (problem === undefined) return outcome;
  const why = `its secret material is still in the secrets store, and removing it is tried again until it is gone: ${problem}`;
  return {
    ...outcome,
    ...changed(200, {
      ...outcome.body,
      warnings: [{ code: 'tenant_erasure_waiting', field: 'tenant', why }],
    }),
  };
}

function inUse(admission: Admission, tenant: Tenant, asked: string): Rejection | undefined {
  const store = admission.store.forTenant(tenant.id);
  const counts = {
    deployments: store.collection('deployments').size,
    jobs: store.collection('jobs').size,
    instances: store.collection('instances').size,
    nodes: store.collection('nodes').size,
    volumes: store.collection('volumes').size,
    networks: store.collection('networks').size,
  };
  const left = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${kind}`);
  if (tenant.slug !== PLATFORM_SLUG && left.length === 0) return undefined;
  return reject('tenant_in_use', {
    field: 'tenant',
    received: received(asked),
    why:
      tenant.slug === PLATFORM_SLUG
        ? "The platform's own tenant cannot be deleted."
        : `The tenant still has ${left.join(', ')}; delete them first.`,
  });
}

function amount(field: string, value: unknown): number | Rejection {
  const whole = field === 'cpu' || Number.isSafeInteger(value);
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0 && whole) return value;
  return reject('quota_invalid', {
    field,
    received: received(value),
    why: `${field} must be a number of 0 or more${field === 'cpu' ? '' : ', without fractions'}, or absent.`,
  });
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function quotaOf(body: Sent<typeof quotaBody>): Quota | Rejection {
  const quota: Record<string, unknown> = {};
  for (const field of ['containers', 'cpu', 'memoryBytes', 'streams'] as const) {
    if (!isSet(body[field])) continue;
    const value = amount(field, body[field]);
    if (isRejection(value)) return value;
    quota[field] = value;
  }
  for (const measure of QUOTA_MEASURES) {
    if (!isSet(body[measure])) continue;
    const amounts: Record<string, number> = {};
    for (const [kind, asked] of Object.entries(body[measure] ?? {})) {
      if (!isSet(asked)) continue;
      const value = amount(`${measure}.${kind}`, asked);
      if (isRejection(value)) return value;
      amounts[kind] = value;
    }
    quota[measure] = amounts;
  }
  return quota;
}

/** The names of what a quota sets. */
function setLimits({ records = {}, bytes = {}, ...others }: Quota): readonly string[] {
  return [
    ...Object.keys(others),
    ...Object.keys(records).map((kind) => `records.${kind}`),
    ...Object.keys(bytes).map((kind) => `bytes.${kind}`),
  ];
}

export async function setQuota(
  admission: Admission,
  caller: Caller,
  idOrSlug: string,
  body: unknown,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof TENANTS.setQuota>> {
  if (findTenant(admission.store, idOrSlug) === undefined)
    return tenantNotFound(admission.store, 'tenant', idOrSlug);
  const sent = readBody(quotaBody, body);
  if (isRejection(sent)) return sent;
  const quota = quotaOf(sent);
  if (isRejection(quota)) return quota;
  return commitAttempts(admission, caller, () => {
    const tenant = findTenant(admission.store, idOrSlug);
    if (tenant === undefined) return tenantNotFound(admission.store, 'tenant', idOrSlug);
    const outdated = revisionRejection(ifMatch, tenantRevision(admission.store, tenant.id));
    if (outdated) return outdated;
    const before = admission.store.forTenant(tenant.id).get('quota', 'quota');
    const transaction = new Transaction(tenant.id)
      .expect('quota', 'quota', before)
      .put('quota', 'quota', quota);
    admission.journal.audit(transaction, tenant.id, caller, 'tenant.quota_set', {
      kind: 'Tenant',
      name: tenant.slug,
    });
    const removed = setLimits(before?.record ?? {})
      .filter((limit) => !setLimits(quota).includes(limit))
      .map((limit) => `quota[${limit}]`);
    return {
      answer: changed(200, { ...tenantView(admission, tenant, { quota }), ...ANNOUNCED, removed }),
      transaction,
    };
  });
}
