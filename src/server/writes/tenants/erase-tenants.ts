import { type TenantId, tenantId } from '../../../core/model/ids.ts';
import { PLATFORM_SLUG } from '../../../core/model/tenant.ts';
import { findTenant } from '../../access/authenticate.ts';
import type { Clock } from '../../clock.ts';
import type { Journal } from '../../journal/journal.ts';
import type { SecretsStore } from '../../secrets/port.ts';
import type { Stored } from '../../store/collection.ts';
import { globalKey, tenantPrefixes } from '../../store/keys.ts';
import type { GlobalRecords } from '../../store/records.ts';
import type { Store } from '../../store/store.ts';
import { Transaction } from '../../store/transaction.ts';

const ERASE_CHUNK = 100;
const TRY_AGAIN_MS = 5_000;
/**
 * A write to a remote store that was under way when the tenant was deleted may come after the removal and recreate the mount: its
 * material is removed a second time when no such write can be left.
 */
const REMOTE_GRACE_MS = 30_000;

type Erasure = GlobalRecords['tenant-erasures'];

export interface EraserOptions {
  readonly store: Store;
  readonly secrets: Pick<SecretsStore, 'destroyTenant' | 'kind'>;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly warn: (details: Readonly<Record<string, unknown>>, message: string) => void;
}

/**
 * Tokens, browser sessions, history and secret material of deleted tenants. The record of an erasure stays until all of it is gone,
 * whatever fails and whichever control plane ends meanwhile: every one of them goes on with it.
 */
export class TenantEraser {
  readonly #options: EraserOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: EraserOptions) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#options.store.listGlobal('tenant-erasures').length;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.eraseAll().catch((error: unknown) =>
        this.#options.warn({ problem: String(error) }, 'a deleted tenant could not be erased'),
      );
    }, TRY_AGAIN_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running?.catch(() => undefined);
  }

  /** One pass over all of them; a call during a pass waits for a pass of its own. */
  async eraseAll(): Promise<void> {
    await this.#running?.catch(() => undefined);
    this.#running = this.#pass().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Why material of the tenant is still in the secrets store. */
  problemOf(id: TenantId): string | undefined {
    return this.#options.store.getGlobal('tenant-erasures', id)?.record.problem;
  }

  async #pass(): Promise<void> {
    for (const erasure of this.#options.store.listGlobal('tenant-erasures')) await this.#erase(erasure);
  }

  async #erase(erasure: Stored<Erasure>): Promise<void> {
    const { store, secrets, clock } = this.#options;
    const id = tenantId(erasure.id);
    await this.#eraseRecords(id);
    const destroyed = await secrets.destroyTenant(id);
    if (!destroyed.ok) return this.#failed(erasure, destroyed.message);
    const askedMs = clock.now().getTime() - Date.parse(erasure.record.requestedAt);
    if (secrets.kind === 'vault' && !(askedMs >= REMOTE_GRACE_MS)) return;
    if (erasure.record.problem === undefined)
      return void (await store.kv.commit({ deletes: [globalKey('tenant-erasures', id)] }));
    await this.#publish(erasure, 'tenant.erased', 'everything of it is removed now', (transaction) =>
      transaction.deleteGlobal('tenant-erasures', id),
    );
  }

  /** In commits of a size that etcd takes. No write can follow, since every write is guarded by its tenant's record. */
  async #eraseRecords(id: TenantId): Promise<void> {
    const { store } = this.#options;
    const own = (['tokens', 'sessions'] as const).flatMap((kind) =>
      store.listGlobal(kind).flatMap((one) => (one.record.tenantId === id ? [globalKey(kind, one.id)] : [])),
    );
    for (let from = 0; from < own.length; from += ERASE_CHUNK)
      await store.kv.commit({ deletes: own.slice(from, from + ERASE_CHUNK) });
    for (const prefix of tenantPrefixes(id)) {
      for (;;) {
        const { entries } = await store.kv.range(prefix, { limit: ERASE_CHUNK });
        if (entries.length === 0) break;
        await store.kv.commit({ deletes: entries.map((entry) => entry.key) });
      }
    }
  }

  /** Published when the reason is a new one, not at every try. */
  async #failed(erasure: Stored<Erasure>, problem: string): Promise<void> {
    if (erasure.record.problem === problem) return;
    const text = `its secret material is still there, and removing it is tried again: ${problem}`;
    await this.#publish(erasure, 'tenant.erasure_waiting', text, (transaction) =>
      transaction.putGlobal('tenant-erasures', erasure.id, { ...erasure.record, problem }),
    );
    this.#options.warn({ tenant: erasure.id, problem }, 'the secrets of a deleted tenant are still there');
  }

  async #publish(
    erasure: Stored<Erasure>,
    kind: string,
    text: string,
    change: (transaction: Transaction) => unknown,
  ): Promise<void> {
    const { store, journal } = this.#options;
    const platform = findTenant(store, PLATFORM_SLUG);
    if (platform === undefined) return;
    const transaction = new Transaction(platform.id).expectGlobal('tenant-erasures', erasure.id, erasure);
    change(transaction);
    const name = erasure.record.slug ?? erasure.id;
    journal.event(transaction, platform.id, {
      kind,
      subject: { kind: 'Tenant', name },
      message: `the tenant ${name} was deleted; ${text}`,
      details: { tenant: erasure.id },
    });
    // Another control plane may have published it first; then this commit conflicts.
    await store.commit(transaction);
  }
}
