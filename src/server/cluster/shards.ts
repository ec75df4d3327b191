import type { TenantId } from '../../core/model/ids.ts';
import { Once } from '../../core/model/once.ts';
import type { Clock } from '../clock.ts';
import type { Stored } from '../store/collection.ts';
import { globalKey } from '../store/keys.ts';
import type { Guard } from '../store/kv.ts';
import { encodeRecord, type ShardRecord } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Membership } from './membership.ts';
import { preferredOwner, SHARD_COUNT, shardOf } from './shard-map.ts';

/** A free shard is left to its preferred owner for this long; then any process takes it. */
const PREFERENCE_MS = 1500;
/** A shard that its preferred owner did not take is not offered to it again before this. */
const KEEP_MS = 60_000;
const ROUND_MS = 1000;

export interface ShardListener {
  /** The process decides for the tenant from now on; nothing that it remembers of it counts. */
  adopt(tenantId: TenantId): void;
  abandon(tenantId: TenantId): void;
}

export interface ShardsOptions {
  readonly store: Store;
  readonly membership: Membership;
  readonly clock: Clock;
  readonly log: (problem: string, details: Readonly<Record<string, unknown>>) => void;
  readonly say: (news: string, details: Readonly<Record<string, unknown>>) => void;
}

/**
 * Which tenants this process decides for. The truth is the records in the store: a shard is held while its record names this
 * process, and the revision of that record guards every write (`guard`). A record goes with the lease of its owner; then
 * another process puts its own in its place, and from that revision on no write of the old owner can succeed.
 */
export class Shards {
  readonly #options: ShardsOptions;
  /** By shard: the revision that listeners were notified of. */
  readonly #notified = new Map<number, number>();
  readonly #freeSinceMs = new Map<number, number>();
  readonly #keptUntilMs = new Map<number, number>();
  #listener: ShardListener | undefined;
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #telling = false;
  #open = true;
  readonly #balancing = new Once<'all'>(() => this.#balance(), {
    onFault: (fault) => this.#options.log('shards could not be taken', { problem: String(fault) }),
  });

  constructor(options: ShardsOptions) {
    this.#options = options;
  }

  owns(tenantId: TenantId): boolean {
    return this.#held(shardOf(tenantId)) !== undefined;
  }

  /** Undefined: this process does not decide for the tenant. */
  guard(tenantId: TenantId): Guard | undefined {
    const shard = shardOf(tenantId);
    const held = this.#held(shard);
    return held && { key: keyOf(shard), modRevision: held.modRevision };
  }

  get count(): number {
    let held = 0;
    for (let shard = 0; shard < SHARD_COUNT; shard += 1) if (this.#held(shard) !== undefined) held += 1;
    return held;
  }

  status(): Record<string, unknown> {
    const { store, membership } = this.#options;
    return {
      controlPlane: membership.id,
      controlPlanes: store.listGlobal('control-planes').length,
      held: this.count,
      certain: membership.certain,
    };
  }

  start(listener: ShardListener): void {
    this.#listener = listener;
    this.#unsubscribe = this.#options.store.view.onChange(({ tenantId, kind }) => {
      if (tenantId !== undefined || (kind !== 'shards' && kind !== 'control-planes')) return;
      this.#tellSoon();
      this.#balancing.ask('all');
    });
    this.#timer = setInterval(() => this.#balancing.ask('all'), ROUND_MS);
    this.#tellSoon();
    this.#balancing.ask('all');
  }

  /** Acquires no further shard; those held go with the lease. */
  stop(): void {
    this.#open = false;
    this.#unsubscribe?.();
    clearInterval(this.#timer);
  }

  #stored(shard: number): Stored<ShardRecord> | undefined {
    return this.#options.store.getGlobal('shards', String(shard));
  }

  #held(shard: number): Stored<ShardRecord> | undefined {
    const stored = this.#stored(shard);
    return stored?.record.owner === this.#options.membership.id ? stored : undefined;
  }

  /** After the whole batch is in the view: a repeated list brings shards before the records of their tenants. */
  #tellSoon(): void {
    if (this.#telling) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      if (this.#open) this.#notify();
    });
  }

  #notify(): void {
    const moved = new Map<number, number | undefined>();
    for (let shard = 0; shard < SHARD_COUNT; shard += 1) {
      const revision = this.#held(shard)?.modRevision;
      if (revision !== this.#notified.get(shard)) moved.set(shard, revision);
    }
    if (moved.size === 0) return;
    for (const tenantId of this.#options.store.view.tenantIds()) {
      const shard = shardOf(tenantId);
      if (!moved.has(shard)) continue;
      if (this.#notified.has(shard)) this.#listener?.abandon(tenantId);
      if (moved.get(shard) !== undefined) this.#listener?.adopt(tenantId);
    }
    for (const [shard, revision] of moved) {
      if (revision === undefined) this.#notified.delete(shard);
      else this.#notified.set(shard, revision);
    }
    this.#options.say('shards moved', { held: this.#notified.size });
  }

  async #balance(): Promise<void> {
    // After the whole batch is in the view.
    await new Promise(setImmediate);
    const { store, membership, clock } = this.#options;
    const processes = store.listGlobal('control-planes').map(({ id }) => id);
    if (!this.#open || membership.lease === undefined || !processes.includes(membership.id)) return;
    const nowMs = clock.monotonicMs();
    const moves: Promise<void>[] = [];
    for (let shard = 0; shard < SHARD_COUNT; shard += 1) {
      const stored = this.#stored(shard);
      const isPreferred = preferredOwner(shard, processes) === membership.id;
      if (stored === undefined) {
        const freeSinceMs = this.#freeSinceMs.get(shard) ?? nowMs;
        this.#freeSinceMs.set(shard, freeSinceMs);
        if (isPreferred) moves.push(this.#claim(shard));
        else if (nowMs - freeSinceMs >= PREFERENCE_MS) {
          this.#keptUntilMs.set(shard, nowMs + KEEP_MS);
          moves.push(this.#claim(shard));
        }
        continue;
      }
      this.#freeSinceMs.delete(shard);
      const mayGo = !isPreferred && nowMs >= (this.#keptUntilMs.get(shard) ?? 0);
      if (stored.record.owner === membership.id && mayGo) moves.push(this.#release(shard, stored));
    }
    await Promise.all(moves);
  }

  async #claim(shard: number): Promise<void> {
    const { store, membership } = this.#options;
    const { lease } = membership;
    if (lease === undefined) return;
    const key = keyOf(shard);
    await store.kv.commit({
      guards: [{ key, modRevision: 0 }],
      puts: [{ key, value: encodeRecord({ owner: membership.id } satisfies ShardRecord), lease }],
    });
  }

  /** What is on its way is refused from then on; the preferred owner sees it free and takes it. */
  async #release(shard: number, { modRevision }: Stored<ShardRecord>): Promise<void> {
    const key = keyOf(shard);
    await this.#options.store.kv.commit({ guards: [{ key, modRevision }], deletes: [key] });
  }
}

function keyOf(shard: number): string {
  return globalKey('shards', String(shard));
}
