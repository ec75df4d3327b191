import type { TenantId } from '../../core/model/ids.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Principal } from '../access/principal.ts';
import { globalKey, tenantKey } from '../store/keys.ts';
import type { Guard } from '../store/kv.ts';
import type { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

/**
 * A write that is judged by the view as it is, without asking a shared store for what is newest. Its commit proves the judgement: `sole`, that no other
 * control plane can have acknowledged anything that the view does not have, and each record that says who may do what, as it was
 * before it was read. Whatever ends otherwise than in this commit was not judged yet.
 */
export class CommitProof {
  readonly #guards: Guard[];
  readonly #store: Store;
  #phase: 'open' | 'sent' | 'stored' = 'open';

  constructor(store: Store, sole: Guard, { tokenId, tenantId }: Principal, actedFor: TenantId) {
    this.#store = store;
    this.#guards = [sole];
    this.rely(globalKey('tokens', tokenId));
    this.rely(globalKey('tenants', actedFor));
    this.rely(globalKey('tenants', tenantId));
    this.rely(tenantKey(actedFor, 'quota', 'quota'));
    this.rely(tenantKey(actedFor, 'image-policy', 'image-policy'));
    this.rely(tenantKey(actedFor, 'container-defaults', 'defaults'));
  }

  /** On a record as it is now, before it is read. */
  rely(key: string): void {
    // Of a second attempt: what the first one read is held to as well.
    if (this.#guards.some((guard) => guard.key === key)) return;
    this.#guards.push({ key, modRevision: this.#store.view.stored(key)?.modRevision ?? 0 });
  }

  /** False: a record is not what it was any more. */
  include(transaction: Transaction): boolean {
    const { guards: known = [] } = transaction.toCommit();
    const added: Guard[] = [];
    for (const guard of this.#guards) {
      const same = known.find(({ key }) => key === guard.key);
      if (same === undefined) added.push(guard);
      else if (same.modRevision !== guard.modRevision) return false;
    }
    transaction.include({ guards: added });
    return true;
  }

  sent(): void {
    this.#phase = 'sent';
  }

  stored(): void {
    this.#phase = 'stored';
  }

  /** Something may be stored, and the request must not be carried out a second time. */
  get wasSent(): boolean {
    return this.#phase !== 'open';
  }

  get isStored(): boolean {
    return this.#phase === 'stored';
  }

  /** Its guards failed: nothing was stored. */
  failed(): Rejection {
    this.#phase = 'open';
    return unproven();
  }
}

/** Shown to nobody: the request is judged again by what is newest. */
export function unproven(): Rejection {
  return reject('store_unavailable', {
    field: 'store',
    received: '(busy)',
    why: 'A record that the request was judged by has changed.',
  });
}
