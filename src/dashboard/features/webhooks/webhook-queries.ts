import type { ItemOf } from '../../../sdk/index.ts';
import { useRecord, useRecords } from '../../app/use-records.ts';

export type Webhook = ItemOf<'GET /api/v1/webhooks'>;
export type DeadLetter = ItemOf<'GET /api/v1/webhooks/{name}/dead-letters'>;

/** Deliveries go on without events of their own. */
const EVERY_MS = 5000;

export function useWebhooks() {
  return useRecords('webhooks', 'GET /api/v1/webhooks', { everyMs: EVERY_MS });
}

export function useWebhook(name: string) {
  return useRecord('webhooks', 'GET /api/v1/webhooks/{name}', { params: { name } }, { everyMs: EVERY_MS });
}

/** Oldest first, as they would be sent again. */
export function useDeadLetters(name: string) {
  return useRecord(
    'webhooks',
    'GET /api/v1/webhooks/{name}/dead-letters',
    { params: { name }, query: { limit: 1000 } },
    { everyMs: EVERY_MS },
  );
}
