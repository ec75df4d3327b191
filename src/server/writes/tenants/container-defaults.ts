import { containerDefaultsBody } from '../../../core/contract/access-bodies.ts';
import { readBody } from '../../../core/schema/shape.ts';
import {
  ACCEPTED_CONTAINER_DEFAULTS,
  boundsText,
  CONTAINER_DEFAULT_FIELDS,
  type ContainerDefaults,
} from '../../../core/model/container-defaults.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { TENANTS } from '../../../core/operations/tenants.ts';
import { findTenant, tenantNotFound } from '../../access/authenticate.ts';
import { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { tenantRevision, tenantView } from './tenants.ts';

function readDefaults(body: unknown): Partial<ContainerDefaults> | Rejection {
  const sent = readBody(containerDefaultsBody, body);
  if (isRejection(sent)) return sent;
  const set: Record<string, unknown> = {};
  for (const field of CONTAINER_DEFAULT_FIELDS) {
    const value = sent[field];
    if (value === undefined || value === null) continue;
    const { fits, form } = ACCEPTED_CONTAINER_DEFAULTS[field];
    if (!fits(value)) {
      return reject('container_defaults_invalid', {
        field,
        received: received(value),
        expected: form,
        why: `${field} is out of range or of another form; leave it out to take the platform's.`,
      });
    }
    set[field] = value;
  }
  return set;
}

const accepted = acceptedOf<typeof TENANTS.setContainerDefaults>();

/** Replaces them whole: what is left out is the platform's again. Containers that run keep what they were made with. */
export async function setContainerDefaults(
  admission: Admission,
  caller: Caller,
  idOrSlug: string,
  body: unknown,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof TENANTS.setContainerDefaults>> {
  if (findTenant(admission.store, idOrSlug) === undefined)
    return tenantNotFound(admission.store, 'tenant', idOrSlug);
  const set = readDefaults(body);
  if ('code' in set) return set;
  return commitAttempts(admission, caller, () => {
    const tenant = findTenant(admission.store, idOrSlug);
    if (tenant === undefined) return tenantNotFound(admission.store, 'tenant', idOrSlug);
    const outdated = revisionRejection(ifMatch, tenantRevision(admission.store, tenant.id));
    if (outdated) return outdated;
    const store = admission.store.forTenant(tenant.id);
    const before = store.get('container-defaults', 'defaults');
    const transaction = new Transaction(tenant.id)
      .expect('container-defaults', 'defaults', before)
      .put('container-defaults', 'defaults', set);
    const subject = { kind: 'Tenant', name: tenant.slug } as const;
    admission.journal.audit(transaction, tenant.id, caller, 'tenant.container_defaults_set', subject);
    const effective = { ...admission.containerDefaults, ...set };
    admission.journal.event(transaction, tenant.id, {
      kind: 'tenant.container_defaults_set',
      subject,
      message: `new containers of ${tenant.slug} are bounded by: ${boundsText(effective)}`,
      details: { set, effective },
    });
    const removed = CONTAINER_DEFAULT_FIELDS.filter(
      (field) => before?.record[field] !== undefined && set[field] === undefined,
    ).map((field) => `containerDefaults[${field}]`);
    const view = tenantView(admission, tenant, { containerDefaults: set });
    return {
      answer: accepted(200, { ...view, alterations: [], warnings: [], removed }),
      transaction,
    };
  });
}
