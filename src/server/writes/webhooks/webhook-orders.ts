import type { WEBHOOKS } from '../../../core/operations/webhooks.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import { findWebhook, webhookNotFound, webhookView } from '../../reads/webhook.ts';
import { idOf } from '../../store/record-ids.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

const deleted = acceptedOf<typeof WEBHOOKS.remove>();
const ordered = acceptedOf<typeof WEBHOOKS.redeliver>();

/** Its dead letters go after it: the controller removes what has no webhook. */
export async function deleteWebhook(
  admission: Admission,
  caller: Caller,
  name: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof WEBHOOKS.remove>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, () => {
    const stored = findWebhook(tenant, name);
    if (stored === undefined) return webhookNotFound(name);
    const refused = revisionRejection(ifMatch, stored.modRevision);
    if (refused) return refused;
    const transaction = tenant
      .transaction()
      .expect('webhooks', stored.id, stored)
      .delete('webhooks', stored.id)
      .delete('webhook-orders', idOf('webhook-orders', name, stored.record.id));
    const subject = { kind: 'Webhook', name } as const;
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'webhook.deleted',
      subject,
      message: `${name} deleted`,
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'webhook.deleted', subject);
    const view = webhookView(tenant, stored.record, stored.modRevision);
    return { answer: deleted(200, { ...view, alterations: [], warnings: [], removed: [] }), transaction };
  });
}

/** Carried out by the control plane that sends for the tenant. */
export async function redeliver(
  admission: Admission,
  caller: Caller,
  name: string,
  events: readonly string[] | undefined,
): Promise<Outcome<typeof WEBHOOKS.redeliver>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, async () => {
    const stored = findWebhook(tenant, name);
    if (stored === undefined) return webhookNotFound(name);
    const { id } = stored.record;
    for (const [at, event] of (events ?? []).entries()) {
      const found = await tenant.getCold(
        'webhook-dead-letters',
        idOf('webhook-dead-letters', name, id, event),
      );
      if (found === undefined)
        return reject('webhook_dead_letter_not_found', {
          field: `events[${at}]`,
          received: received(event),
          why: `${name} has no dead letter of this id.`,
        });
    }
    const delivery = tenant.get('webhook-deliveries', idOf('webhook-deliveries', name, id))?.record;
    const orderId = idOf('webhook-orders', name, id);
    const before = tenant.get('webhook-orders', orderId);
    const number = (before?.record.redeliver ?? 0) + 1;
    const isOpen = before !== undefined && before.record.redeliver > (delivery?.redelivered ?? 0);
    const both = isOpen ? together(before.record.events, events) : events;
    const transaction = tenant
      .transaction()
      .expect('webhooks', stored.id, stored)
      .expect('webhook-orders', orderId, before)
      .put('webhook-orders', orderId, { redeliver: number, ...(both !== undefined && { events: both }) });
    const subject = { kind: 'Webhook', name } as const;
    admission.journal.audit(transaction, tenant.tenantId, caller, 'webhook.redelivery_requested', subject);
    return {
      answer: ordered(202, { name, ordered: events?.length ?? delivery?.deadLetters ?? 0 }),
      transaction,
    };
  });
}

/** An order that is not carried out yet holds beside the new one; undefined is all of them. */
function together(
  before: readonly string[] | undefined,
  events: readonly string[] | undefined,
): readonly string[] | undefined {
  return before === undefined || events === undefined ? undefined : [...new Set([...before, ...events])];
}
