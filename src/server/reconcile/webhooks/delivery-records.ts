import type { WebhookDelivery } from '../../../core/model/webhook.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ControllerDeps } from '../controller.ts';
import type { Hook } from './hook.ts';

const COMMIT_TRIES = 5;

/** How far a webhook is and what became of what it sent, as it is stored; with the events that tell of it. */
export class DeliveryRecords {
  readonly #deps: Pick<ControllerDeps, 'owns' | 'journal'>;
  readonly #commit: (tenant: TenantStore, transaction: Transaction) => Promise<boolean>;

  constructor(
    deps: Pick<ControllerDeps, 'owns' | 'journal'>,
    commit: (tenant: TenantStore, transaction: Transaction) => Promise<boolean>,
  ) {
    this.#deps = deps;
    this.#commit = commit;
  }

  of({ tenant, stored: { record } }: Hook): Stored<WebhookDelivery> | undefined {
    return tenant.get('webhook-deliveries', idOf('webhook-deliveries', record.name, record.id));
  }

  /** False: the webhook is gone, or another process sends by now. */
  async store(
    hook: Hook,
    change: (delivery: WebhookDelivery) => WebhookDelivery,
    include: (transaction: Transaction, before: WebhookDelivery | undefined) => void = () => undefined,
  ): Promise<boolean> {
    const { tenant, request } = hook;
    const { name, id } = hook.stored.record;
    for (let tries = 0; tries < COMMIT_TRIES; tries += 1) {
      const webhook = tenant.get('webhooks', request.id);
      if (webhook?.record.id !== id || !this.#deps.owns(request.tenantId)) return false;
      const deliveryId = idOf('webhook-deliveries', name, id);
      const before = tenant.get('webhook-deliveries', deliveryId);
      const start = before?.record ?? {
        position: { origin: hook.origin, revision: webhook.createRevision, event: '' },
        pending: 0,
        deadLetters: 0,
        dropped: 0,
      };
      const transaction = tenant
        .transaction()
        .expect('webhooks', webhook.id, webhook)
        .expect('webhook-deliveries', deliveryId, before)
        .put('webhook-deliveries', deliveryId, change(start));
      include(transaction, before?.record);
      if (await this.#commit(tenant, transaction)) return true;
    }
    return false;
  }

  tell({ tenant, stored }: Hook, transaction: Transaction, kind: string, message: string): void {
    const subject = { kind: 'Webhook', name: stored.record.name } as const;
    this.#deps.journal.event(transaction, tenant.tenantId, { kind, subject, message });
  }
}
