import type { TenantId } from '../../core/model/ids.ts';
import type { CommitResult, Guard } from '../store/kv.ts';
import { Store, TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';

/** This process does not own the tenant's shard (any more); the owner has seen what there is to do. */
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
    super(store.kv, store.view, store.derivesRows);
    this.#guard = guard;
  }

  /** Writes that the store refused because the shard had moved. */
  get refused(): number {
    return this.#refused;
  }

  /** Bound to the epoch in which it was asked for: what was decided then is not stored in a later one, once the shard was away. */
  override forTenant(tenantId: TenantId): TenantStore {
    const guard = this.#guard(tenantId);
    return new OwnedTenantStore(this, tenantId, (transaction) => this.#commitUnder(guard, transaction));
  }

  override commit(transaction: Transaction): Promise<CommitResult> {
    return this.#commitUnder(this.#guard(transaction.tenantId), transaction);
  }

  async #commitUnder(guard: Guard | undefined, transaction: Transaction): Promise<CommitResult> {
    const { tenantId } = transaction;
    if (guard === undefined) throw new ShardNotHeldError(`tenant ${tenantId} is not owned by this process`);
    const result = await super.commit(transaction.include({ guards: [guard] }));
    if (result.ok || !result.failed.includes(guard.key)) return result;
    this.#refused += 1;
    throw new ShardNotHeldError(`tenant ${tenantId} moved to another control plane`);
  }
}

class OwnedTenantStore extends TenantStore {
  readonly #commit: (transaction: Transaction) => Promise<CommitResult>;

  constructor(store: Store, tenantId: TenantId, commit: (transaction: Transaction) => Promise<CommitResult>) {
    super(store, tenantId);
    this.#commit = commit;
  }

  override commit(transaction: Transaction): Promise<CommitResult> {
    return this.#commit(transaction);
  }
}
