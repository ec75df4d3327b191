import type { TenantId } from '../../../core/model/ids.ts';
import { KvTooLargeError } from '../../store/kv.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { KeyedState } from '../reconciler.ts';

/** Of one commit. */
const MOST_PLANS = 64;
const MOST_BYTES = 256 * 1024;
/** A request of somebody else waits for all that is under way before it. */
const MOST_WRITES_UNDER_WAY = 4096;

interface Extent {
  readonly writes: number;
  readonly guards: number;
  readonly bytes: number;
}

/** Plans of one tenant on their way into one commit. */
class Joint {
  readonly tenant: TenantStore;
  /** That of the first, with the others included. */
  readonly transaction: Transaction;
  readonly keys: string[];
  readonly stored = Promise.withResolvers<boolean>();
  /** Of writes, and of guards. */
  readonly #most: number;
  #extent: Extent;

  constructor(tenant: TenantStore, key: string, transaction: Transaction, most: number) {
    this.#most = most;
    this.tenant = tenant;
    this.transaction = transaction;
    this.keys = [key];
    this.#extent = extentOf(transaction);
  }

  get writes(): number {
    return this.#extent.writes;
  }

  /** False: it is full. */
  take(key: string, transaction: Transaction): boolean {
    const more = extentOf(transaction);
    const writes = this.#extent.writes + more.writes;
    const guards = this.#extent.guards + more.guards;
    const bytes = this.#extent.bytes + more.bytes;
    if (writes > this.#most || guards > this.#most || bytes > MOST_BYTES) return false;
    if (this.keys.length === MOST_PLANS) return false;
    this.#extent = { writes, guards, bytes };
    this.keys.push(key);
    this.transaction.include(transaction.toCommit());
    return true;
  }
}

/**
 * Plans that are made in one turn of the event loop share a commit, under all their guards: what a store does for a commit costs as
 * much as what it does for some rows. Only plans of one tenant do, since a shard is guarded for one, and none waits for another: what
 * there is when the turn ends is sent. If it is not stored, none of it is, and each is decided again and goes by itself.
 */
export class JointCommits {
  readonly #store: (tenant: TenantStore, transaction: Transaction) => Promise<boolean>;
  readonly #most: number;
  /** Writes of plans that were made and not stored yet, sent or not. */
  #underWay = 0;
  readonly #open = new Map<TenantId, Joint>();
  /** Were part of a commit that was not stored, perhaps because of another part of it. */
  readonly #apart = new KeyedState<true>();

  /** `most`: writes of one commit, and guards. */
  constructor(commit: (tenant: TenantStore, transaction: Transaction) => Promise<boolean>, most: number) {
    this.#most = most;
    this.#store = commit;
  }

  /** So much has been asked of the store that more would only wait there, and keep others waiting. */
  get isFull(): boolean {
    return this.#underWay >= MOST_WRITES_UNDER_WAY;
  }

  /** False: a record changed since it was read, of this plan or of one beside it. `key` is that of the plan's deployment. */
  commit(key: string, tenant: TenantStore, transaction: Transaction): Promise<boolean> {
    if (this.#apart.has(key)) return this.#commitApart(key, tenant, transaction);
    if (removes(transaction)) return this.#commit(tenant, transaction);
    const open = this.#open.get(tenant.tenantId);
    const before = open?.writes ?? 0;
    if (open?.take(key, transaction) === true) {
      this.#underWay += open.writes - before;
      return open.stored.promise;
    }
    if (open !== undefined) void this.#send(open);
    // Its handle is bound to the shard as it is now, and nothing of another turn comes to it.
    const joint = new Joint(tenant, key, transaction, this.#most);
    this.#underWay += joint.writes;
    this.#open.set(tenant.tenantId, joint);
    return joint.stored.promise;
  }

  forget(tenantId?: TenantId): void {
    this.#apart.forget(tenantId);
  }

  /** To be called when the turn ends, without a pause: nothing has changed then since the plans were made. */
  send(): void {
    if (this.#open.size === 0) return;
    const joints = [...this.#open.values()];
    this.#open.clear();
    for (const joint of joints) void this.#send(joint);
  }

  async #commit(tenant: TenantStore, transaction: Transaction): Promise<boolean> {
    const { writes } = extentOf(transaction);
    this.#underWay += writes;
    try {
      return await this.#store(tenant, transaction);
    } finally {
      this.#underWay -= writes;
    }
  }

  /** What throws stays apart: it would fail others again and again. */
  async #commitApart(key: string, tenant: TenantStore, transaction: Transaction): Promise<boolean> {
    const ok = await this.#commit(tenant, transaction);
    this.#apart.delete(key);
    return ok;
  }

  async #send({ tenant, transaction, keys, stored, writes }: Joint): Promise<void> {
    const part = (): void => {
      if (keys.length > 1) for (const key of keys) this.#apart.set(key, true);
    };
    try {
      const ok = await this.#store(tenant, transaction);
      if (!ok) part();
      stored.resolve(ok);
    } catch (fault) {
      part();
      // Of a store that is set to take less: nothing was stored, and nothing is wrong.
      if (keys.length > 1 && fault instanceof KvTooLargeError) stored.resolve(false);
      else stored.reject(fault);
    } finally {
      this.#underWay -= writes;
    }
  }
}

/** On a full disk a store takes what gives back space, and must not take other plans for its sake. */
function removes(transaction: Transaction): boolean {
  return (transaction.toCommit().deletes ?? []).length > 0;
}

function extentOf(transaction: Transaction): Extent {
  const { guards = [], puts = [], deletes = [] } = transaction.toCommit();
  let bytes = 0;
  for (const { key, value } of puts) bytes += key.length + value.length;
  return { writes: puts.length + deletes.length, guards: guards.length, bytes };
}
