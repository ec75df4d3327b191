import type { TenantId } from '../../core/model/ids.ts';
import type { CommitResult, Guard } from '../store/kv.ts';
import { Store } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

/** The process does not decide for the tenant (any more); whoever does has seen what there is to do. */
export class ShardNotHeldError extends Error {
  override readonly name = 'ShardNotHeldError';
}

/**
 * The store as controllers get it where several processes share it: every commit is guarded by the shard of its tenant in the
 * same transaction, so a process that lost the shard, however late it notices, can store nothing more.
 */
export class OwnedStore extends Store {
  readonly #guard: (tenantId: TenantId) => Guard | undefined;
  #refused = 0;

  constructor(store: Store, guard: (tenantId: TenantId) => Guard | undefined) {
    super(store.kv, store.view);
    this.#guard = guard;
  }

  /** Writes that the store refused because the shard had moved. */
  get refused(): number {
    return this.#refused;
  }

  override async commit(transaction: Transaction): Promise<CommitResult> {
    const { tenantId } = transaction;
    const guard = this.#guard(tenantId);
    if (guard === undefined) throw new ShardNotHeldError(`tenant ${tenantId} is not of this control plane`);
    const result = await super.commit(transaction.include({ guards: [guard] }));
    if (result.ok || !result.failed.includes(guard.key)) return result;
    this.#refused += 1;
    throw new ShardNotHeldError(`tenant ${tenantId} moved to another control plane`);
  }
}
