import { randomUUID } from 'node:crypto';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Stored } from '../../store/collection.ts';
import type { TenantRecords } from '../../store/records.ts';
import type { TenantStore } from '../../store/store.ts';

/**
 * A reference and a deletion at the same moment, on any control planes: every write that refers to a document expects the record of its
 * label as it was read. A deletion puts its mark there first. Whoever read the label before fails and decides again; whoever was stored
 * before is in the view by then, and the deletion sees it; whoever comes later finds the mark and waits.
 */

/** Longer than a deletion takes: a mark that is still there was left behind by a process that ended. */
const LEFT_BEHIND_MS = 10_000;
const LOOK_MS = 50;

function markOf(tenant: TenantStore, label: string): string | undefined {
  return tenant.get('secret-labels', idOf('secret-labels', label))?.record.deleting;
}

export function deletionMoved(label: string): Rejection {
  return {
    ...reject('secrets_store_unavailable', {
      field: 'secrets',
      received: '(none)',
      why: `${label} is being deleted, or referred to, by another request; send the request again.`,
    }),
    moved: true,
    retryAfterSeconds: 1,
  };
}

/** Until none of the labels is about to go; a rejection: one was, so that everything has to be looked at again. */
export async function awaitDeletions(
  tenant: TenantStore,
  labels: readonly string[],
): Promise<Rejection | undefined> {
  for (const label of labels) {
    const mark = markOf(tenant, label);
    if (mark === undefined) continue;
    for (let waited = 0; waited < LEFT_BEHIND_MS; waited += LOOK_MS) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      if (markOf(tenant, label) !== mark) return deletionMoved(label);
    }
  }
  return undefined;
}

/** The mark of one deletion. */
export class DeletionMark {
  readonly #tenant: TenantStore;
  readonly #label: string;
  readonly #mark = randomUUID();
  /** What the label was before it: nothing, or the namespace that it is used in. */
  #before: string | undefined;
  #marked: Stored<TenantRecords['secret-labels']> | undefined;

  constructor(tenant: TenantStore, label: string) {
    this.#tenant = tenant;
    this.#label = label;
  }

  get id(): string {
    return idOf('secret-labels', this.#label);
  }

  get #stored() {
    return this.#tenant.get('secret-labels', this.id);
  }

  get isSet(): boolean {
    return this.#stored?.record.deleting === this.#mark;
  }

  /** False: somebody wrote the label at this moment. */
  async put(namespace: string): Promise<boolean> {
    const stored = this.#stored;
    this.#before = stored?.record.namespace;
    const record = { namespace: stored?.record.namespace ?? namespace, deleting: this.#mark };
    const transaction = this.#tenant
      .transaction()
      .expect('secret-labels', this.id, stored)
      .put('secret-labels', this.id, record);
    const isPut = (await this.#tenant.commit(transaction)).ok;
    this.#marked = this.#stored;
    return isPut;
  }

  /**
   * Into the commit of the deletion, which fails when the mark is not there any more. The record stays: who looked at the document before
   * finds it changed.
   */
  include(transaction: ReturnType<TenantStore['transaction']>, namespace: string): void {
    const stored = this.#stored;
    const isOurs = stored?.record.deleting === this.#mark;
    transaction
      // Without our mark the commit has to fail: what was read before is no revision of it.
      .expect('secret-labels', this.id, isOurs ? stored : this.#marked)
      .put('secret-labels', this.id, { namespace: stored?.record.namespace ?? namespace });
  }

  /** However the deletion ended: nothing of it is left. */
  async remove(): Promise<void> {
    const stored = this.#stored;
    if (stored?.record.deleting !== this.#mark) return;
    const transaction = this.#tenant.transaction().expect('secret-labels', this.id, stored);
    if (this.#before === undefined) transaction.delete('secret-labels', this.id);
    else transaction.put('secret-labels', this.id, { namespace: this.#before });
    await this.#tenant.commit(transaction);
  }
}
