import {
  mergeWebhookDraft,
  removedFilters,
  webhookChange,
  type WebhookDraft,
  webhookSpec,
} from '../../../core/contract/webhook-body.ts';
import { specOf, type WebhookRecord, type WebhookSpec } from '../../../core/model/webhook.ts';
import type { WEBHOOKS } from '../../../core/operations/webhooks.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { firstRejection } from '../../../core/rules/rule.ts';
import { readWebhookShape, webhookRules } from '../../../core/rules/webhook.ts';
import { draftOf, readBody } from '../../../core/schema/shape.ts';
import { findWebhook, webhookNotFound, webhookView } from '../../reads/webhook.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  acceptedOf,
  type Admission,
  type Caller,
  commitAttempts,
  type Outcome,
  type WriteOptions,
} from '../admission.ts';
import { documentRejections } from '../found-rejections.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { expectSigningKey, signingKeyWarnings } from '../secrets/secret-references.ts';

const created = acceptedOf<typeof WEBHOOKS.create>();
const updated = acceptedOf<typeof WEBHOOKS.update>();

/** Where the control plane would not call, whatever the name resolves to. */
function destinationRejection({ mayCall }: Admission, { url = '' }: WebhookDraft): Rejection | undefined {
  const why = mayCall?.(url);
  return why === undefined
    ? undefined
    : reject('webhook_invalid', {
        field: 'url',
        received: received(url),
        expected: 'an https URL at a public address, or a host that the platform lists for webhooks',
        why,
      });
}

function judged(admission: Admission, draft: WebhookDraft): Rejection | undefined {
  return (
    firstRejection(webhookRules(admission.limits.secretPolicy), draft) ??
    destinationRejection(admission, draft)
  );
}

/** Beside the first one, all that is refused in the document. */
export function webhookRejections(
  admission: Admission,
  caller: Caller,
  body: unknown,
  first: Rejection,
  updates?: string,
): Promise<readonly Rejection[]> {
  const stored = updates === undefined ? undefined : findWebhook(caller.tenant, updates);
  const read = (sent: unknown): WebhookDraft | Rejection => {
    if (stored === undefined) return readWebhookShape(sent);
    const change = readBody(webhookChange, sent);
    return isRejection(change) ? change : mergeWebhookDraft(stored.record, change);
  };
  const rules = webhookRules(admission.limits.secretPolicy);
  return documentRejections(first, body, read, [...rules, (draft) => destinationRejection(admission, draft)]);
}

function tell(
  { journal }: Admission,
  caller: Caller,
  transaction: Transaction,
  { name, url, paused }: WebhookSpec,
  done: 'created' | 'updated',
): void {
  const { tenant } = caller;
  const subject = { kind: 'Webhook', name } as const;
  // A path or a query may hold what only the receiver is to know.
  const host = new URL(url).host;
  journal.event(transaction, tenant.tenantId, {
    kind: `webhook.${done}`,
    subject,
    message: `${name} ${done}: events go to ${host}${paused ? ', once it is no longer paused' : ''}`,
    details: { host, paused },
  });
  journal.audit(transaction, tenant.tenantId, caller, `webhook.${done}`, subject);
}

/** Events are sent from its creation on, the one of its creation among them. */
export async function createWebhook(
  admission: Admission,
  caller: Caller,
  body: unknown,
  { dryRun }: Pick<WriteOptions, 'dryRun'>,
): Promise<Outcome<typeof WEBHOOKS.create>> {
  const draft = readWebhookShape(body);
  if (isRejection(draft)) return draft;
  const refused = judged(admission, draft);
  if (refused) return refused;
  const { spec, alterations } = webhookSpec(draft);
  const { tenant } = caller;
  return commitAttempts(admission, caller, async () => {
    const id = idOf('webhooks', spec.name);
    if (findWebhook(tenant, spec.name) !== undefined)
      return reject('webhook_already_exists', {
        field: 'name',
        received: received(spec.name),
        why: 'The tenant already has a webhook of this name.',
      });
    const now = admission.clock.now().toISOString();
    const record: WebhookRecord = {
      ...spec,
      id: admission.ids.next('webhook'),
      tenantId: tenant.tenantId,
      createdAt: now,
      updatedAt: now,
    };
    const { known, warnings } = await signingKeyWarnings(admission.secrets, tenant, record);
    const view = { ...webhookView(tenant, record), alterations, warnings, removed: [] };
    if (dryRun)
      return { answer: created(200, view), would: () => tenant.transaction().put('webhooks', id, record) };
    const transaction = tenant.transaction().expect('webhooks', id, undefined).put('webhooks', id, record);
    const moved = await expectSigningKey(tenant, record, transaction, known);
    if (moved) return moved;
    tell(admission, caller, transaction, spec, 'created');
    return { answer: created(201, view), transaction };
  });
}

export interface WebhookChange extends Pick<WriteOptions, 'dryRun'> {
  readonly ifMatch?: IfMatch | undefined;
}

export async function updateWebhook(
  admission: Admission,
  caller: Caller,
  name: string,
  body: unknown,
  { dryRun, ifMatch }: WebhookChange,
): Promise<Outcome<typeof WEBHOOKS.update>> {
  const sent = readBody(webhookChange, body);
  if (isRejection(sent)) return sent;
  const { tenant } = caller;
  return commitAttempts(admission, caller, async () => {
    const stored = findWebhook(tenant, name);
    if (stored === undefined) return webhookNotFound(name);
    const named = draftOf(webhookChange, sent).name;
    if (named !== undefined && named !== name)
      return reject('name_mismatch', {
        field: 'name',
        received: received(named),
        expected: name,
        why: 'The name in the body is not the one in the path, and a webhook is not renamed.',
      });
    const before = specOf(stored.record);
    const draft = mergeWebhookDraft(before, sent);
    const refused = revisionRejection(ifMatch, stored.modRevision) ?? judged(admission, draft);
    if (refused) return refused;
    const { spec, alterations } = webhookSpec(draft);
    const record = { ...stored.record, ...spec, updatedAt: admission.clock.now().toISOString() };
    const removed = removedFilters(before, spec);
    const { known, warnings } = await signingKeyWarnings(admission.secrets, tenant, record);
    const view = { ...webhookView(tenant, record), alterations, warnings, removed };
    const answer = updated(200, view);
    if (dryRun) return { answer, would: () => tenant.transaction().put('webhooks', stored.id, record) };
    const transaction = tenant
      .transaction()
      .expect('webhooks', stored.id, stored)
      .put('webhooks', stored.id, record);
    const moved = await expectSigningKey(tenant, record, transaction, known);
    if (moved) return moved;
    tell(admission, caller, transaction, spec, 'updated');
    return { answer, transaction };
  });
}
