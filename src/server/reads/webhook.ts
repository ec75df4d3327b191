import type { deadLetter, webhook } from '../../core/contract/answers/webhook.ts';
import type { DeadLetter, WebhookDelivery, WebhookRecord } from '../../core/model/webhook.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { type Answer, type Exactly, exactly } from '../../core/schema/shape.ts';
import type { Stored } from '../store/collection.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

export function findWebhook(tenant: TenantStore, name: string): Stored<WebhookRecord> | undefined {
  return tenant.get('webhooks', idOf('webhooks', name));
}

export function webhookNotFound(name: string): Rejection {
  return reject('webhook_not_found', {
    field: 'name',
    received: received(name),
    why: 'The tenant has no webhook of this name.',
  });
}

type Webhook = Answer<typeof webhook>;

/** A webhook that was written since its receiver answered 410 is tried again. */
function isGone({ gone }: WebhookDelivery, revision: number | undefined): boolean {
  return gone !== undefined && gone.revision === revision;
}

function statusOf(
  record: WebhookRecord,
  delivery: WebhookDelivery | undefined,
  revision: number | undefined,
): Webhook['status'] {
  const { pending = 0, lastSuccess, lastFailure, failing, deadLetters = 0, dropped = 0 } = delivery ?? {};
  const { deadLetterBytes } = delivery ?? {};
  const gone = delivery !== undefined && isGone(delivery, revision);
  const state = record.paused ? 'paused' : gone ? 'gone' : failing === undefined ? 'active' : 'failing';
  return {
    state,
    pending,
    ...(lastSuccess && { lastSuccess }),
    ...(lastFailure && { lastFailure }),
    attempts: failing?.attempts ?? 0,
    ...(state === 'failing' && failing && { nextAttemptAt: failing.retryAt }),
    deadLetters,
    ...(deadLetterBytes !== undefined && { deadLetterBytes }),
    dropped,
  };
}

/** `revision`: of the stored record; absent: it is being written. */
export function webhookView(
  tenant: TenantStore,
  record: WebhookRecord,
  revision?: number,
): Omit<Webhook, 'revision'> {
  const { id, name, tenantId, url, events, signing, paused, createdAt, updatedAt } = record;
  const delivery = tenant.get('webhook-deliveries', idOf('webhook-deliveries', name, id))?.record;
  const status = statusOf(record, delivery, revision);
  return { id, name, tenantId, url, events, signing, paused, createdAt, updatedAt, status };
}

const asWebhook = exactly<Webhook>();

export function storedWebhookView(tenant: TenantStore, stored: Stored<WebhookRecord>): Exactly<Webhook> {
  const { record, modRevision: revision } = stored;
  return asWebhook({ ...webhookView(tenant, record, revision), revision });
}

const asDeadLetter = exactly<Answer<typeof deadLetter>>();

export function deadLetterView(record: DeadLetter): Exactly<Answer<typeof deadLetter>> {
  return asDeadLetter({ id: record.event.id, ...record });
}
