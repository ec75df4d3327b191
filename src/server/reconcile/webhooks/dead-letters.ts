import {
  type DeadLetter,
  MAX_DEAD_LETTERS,
  type WebhookDelivery,
  type WebhookRecord,
} from '../../../core/model/webhook.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';

/** Records read and removed at a time. */
const STEP = 50;

type Named = Pick<WebhookRecord, 'name' | 'id'>;

function under({ name, id }: Named): string {
  return `${prefixOf('webhook-dead-letters', name, id)}/`;
}

interface Kept {
  /** How many older ones make room. */
  readonly dropped: number;
  readonly include: (transaction: Transaction) => void;
}

/** What keeps the letters in the bounds, to be part of a commit. */
export async function includeDeadLetters(
  tenant: TenantStore,
  webhook: Named,
  delivery: WebhookDelivery | undefined,
  letters: readonly DeadLetter[],
): Promise<Kept> {
  const surplus = (delivery?.deadLetters ?? 0) + letters.length - MAX_DEAD_LETTERS;
  const oldest =
    surplus > 0
      ? (await tenant.rangeCold('webhook-dead-letters', under(webhook), { limit: surplus })).entries
      : [];
  return {
    dropped: oldest.length,
    include: (transaction) => {
      for (const { id } of oldest) transaction.deleteCold('webhook-dead-letters', id);
      for (const letter of letters)
        transaction.putCold(
          'webhook-dead-letters',
          idOf('webhook-dead-letters', webhook.name, webhook.id, letter.event.id),
          letter,
        );
    },
  };
}

/** Those that were asked for, oldest first; each is read when its turn comes. */
export async function* orderedDeadLetters(
  tenant: TenantStore,
  webhook: Named,
  events: readonly string[] | undefined,
): AsyncGenerator<Stored<DeadLetter>> {
  if (events !== undefined) {
    for (const event of events.toSorted()) {
      const id = idOf('webhook-dead-letters', webhook.name, webhook.id, event);
      const letter = await tenant.getCold('webhook-dead-letters', id);
      if (letter !== undefined) yield letter;
    }
    return;
  }
  let after: string | undefined;
  do {
    const { entries } = await tenant.rangeCold('webhook-dead-letters', under(webhook), {
      limit: STEP,
      ...(after !== undefined && { after }),
    });
    yield* entries;
    after = entries.length === STEP ? entries.at(-1)?.id : undefined;
  } while (after !== undefined);
}

export async function removeDeadLetters(tenant: TenantStore, name: string, id: string): Promise<void> {
  for (;;) {
    const { entries } = await tenant.rangeCold('webhook-dead-letters', under({ name, id }), { limit: STEP });
    if (entries.length === 0) return;
    const transaction = tenant.transaction();
    for (const entry of entries) transaction.deleteCold('webhook-dead-letters', entry.id);
    await tenant.commit(transaction);
  }
}
