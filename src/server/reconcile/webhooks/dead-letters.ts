import {
  type DeadLetter,
  MAX_DEAD_LETTER_BYTES,
  MAX_DEAD_LETTERS,
  type WebhookDelivery,
  type WebhookRecord,
} from '../../../core/model/webhook.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';

/** Records read and removed at a time: a commit of etcd has 128 operations at most. */
const STEP = 50;

type Named = Pick<WebhookRecord, 'name' | 'id'>;

function under({ name, id }: Named): string {
  return `${prefixOf('webhook-dead-letters', name, id)}/`;
}

export function deadLetterBytes(letter: DeadLetter): number {
  return Buffer.byteLength(JSON.stringify(letter));
}

interface Room {
  /** False: more have to go than one commit may remove. These go first, and nothing new is stored with them. */
  readonly isEnough: boolean;
  /** How many older ones make room. */
  readonly dropped: number;
  /** What is kept once this is stored. */
  readonly kept: Pick<WebhookDelivery, 'deadLetters' | 'deadLetterBytes'>;
  readonly include: (transaction: Transaction) => void;
}

async function storedBytes(tenant: TenantStore, webhook: Named): Promise<number> {
  let bytes = 0;
  for await (const { record } of orderedDeadLetters(tenant, webhook, undefined))
    bytes += deadLetterBytes(record);
  return bytes;
}

/** What keeps the letters in the bounds, to be part of a commit: the oldest go, those that are new last. */
export async function roomForDeadLetters(
  tenant: TenantStore,
  webhook: Named,
  delivery: WebhookDelivery | undefined,
  letters: readonly DeadLetter[],
): Promise<Room> {
  const added = letters.map(deadLetterBytes);
  const addedBytes = added.reduce((sum, bytes) => sum + bytes, 0);
  const { deadLetters = 0, deadLetterBytes: counted } = delivery ?? {};
  let count = deadLetters + letters.length;
  let bytes = addedBytes + (deadLetters === 0 ? 0 : (counted ?? (await storedBytes(tenant, webhook))));
  const isTooMuch = (): boolean => count > MAX_DEAD_LETTERS || (bytes > MAX_DEAD_LETTER_BYTES && count > 1);
  const removed: string[] = [];
  const remove = (transaction: Transaction): void => {
    for (const id of removed) transaction.deleteCold('webhook-dead-letters', id);
  };
  if (isTooMuch()) {
    for await (const { id, record } of orderedDeadLetters(tenant, webhook, undefined)) {
      if (removed.length === STEP) {
        const kept = { deadLetters: count - letters.length, deadLetterBytes: bytes - addedBytes };
        return { isEnough: false, dropped: STEP, kept, include: remove };
      }
      removed.push(id);
      count -= 1;
      bytes = Math.max(addedBytes, bytes - deadLetterBytes(record));
      if (!isTooMuch()) break;
    }
    // Nothing but the new ones is left, whatever was counted.
    if (isTooMuch()) [count, bytes] = [letters.length, addedBytes];
  }
  let passedOver = 0;
  for (const size of added.slice(0, -1)) {
    if (!isTooMuch()) break;
    passedOver += 1;
    count -= 1;
    bytes -= size;
  }
  return {
    isEnough: true,
    dropped: removed.length + passedOver,
    kept: { deadLetters: count, deadLetterBytes: bytes },
    include: (transaction) => {
      remove(transaction);
      for (const letter of letters.slice(passedOver))
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
