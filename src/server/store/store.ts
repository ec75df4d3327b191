import type { TenantId } from '../../core/model/ids.ts';
import type { Collection, CollectionPage, Stored } from './collection.ts';
import { coldKey, isHot } from './keys.ts';
import type { CommitResult, Kv, RangeOptions, WatchHandlers, Watch } from './kv.ts';
import {
  type ColdRecords,
  decodeRecord,
  type GlobalRecords,
  recordText,
  type TenantRecords,
} from './records.ts';
import { Transaction } from './transaction.ts';
import type { StoreView } from './view.ts';

/** The store as the rest of the server sees it: reads from the view, guarded commits, a handle per tenant. */
export class Store {
  readonly kv: Kv;
  readonly view: StoreView;

  constructor(kv: Kv, view: StoreView) {
    this.kv = kv;
    this.view = view;
  }

  forTenant(tenantId: TenantId): TenantStore {
    return new TenantStore(this, tenantId);
  }

  getGlobal<K extends keyof GlobalRecords>(kind: K, id: string): Stored<GlobalRecords[K]> | undefined {
    return this.view.global(kind).get(id);
  }

  listGlobal<K extends keyof GlobalRecords>(kind: K, page?: CollectionPage): Stored<GlobalRecords[K]>[] {
    return this.view.global(kind).list(page);
  }

  /** Durable when it resolves, and already visible in the view. */
  async commit(transaction: Transaction): Promise<CommitResult> {
    const commit = transaction.toCommit();
    const result = await this.kv.commit(commit);
    if (!result.ok || this.view.revision >= result.revision) return result;
    const touchesView =
      commit.puts?.some((put) => isHot(put.key)) || commit.deletes?.some((key) => isHot(key));
    if (touchesView) await this.view.reached(result.revision);
    return result;
  }
}

interface ColdRange<T> {
  readonly entries: Stored<T>[];
  readonly revision: number;
  /** Of all values, in characters. */
  readonly length: number;
}

/** Bound to one tenant: an unscoped read of a tenant's record is not expressible outside the store. */
export class TenantStore {
  readonly tenantId: TenantId;
  readonly #store: Store;

  constructor(store: Store, tenantId: TenantId) {
    this.#store = store;
    this.tenantId = tenantId;
  }

  collection<K extends keyof TenantRecords>(kind: K): Collection<TenantRecords[K]> {
    return this.#store.view.tenant(this.tenantId, kind);
  }

  get<K extends keyof TenantRecords>(kind: K, id: string): Stored<TenantRecords[K]> | undefined {
    return this.collection(kind).get(id);
  }

  list<K extends keyof TenantRecords>(kind: K, page?: CollectionPage): Stored<TenantRecords[K]>[] {
    return this.collection(kind).list(page);
  }

  async getCold<K extends keyof ColdRecords>(
    kind: K,
    id: string,
  ): Promise<Stored<ColdRecords[K]> | undefined> {
    const entry = await this.#store.kv.get(coldKey(this.tenantId, kind, id));
    if (entry === undefined) return undefined;
    const { modRevision, createRevision } = entry;
    return { id, record: decodeRecord(entry.key, entry.value), modRevision, createRevision };
  }

  /** Cold records whose id starts with `under`, in id order. `after` is an id. */
  rangeCold<K extends keyof ColdRecords>(
    kind: K,
    under = '',
    options: RangeOptions = {},
  ): Promise<ColdRange<ColdRecords[K]>> {
    return this.#rangeCold(kind, under, options, decodeRecord<ColdRecords[K]>);
  }

  /** The records as JSON, for lists that show them as they are. */
  rangeColdText(kind: keyof ColdRecords, under = '', options: RangeOptions = {}): Promise<ColdRange<string>> {
    return this.#rangeCold(kind, under, options, recordText);
  }

  async #rangeCold<T>(
    kind: keyof ColdRecords,
    under: string,
    options: RangeOptions,
    read: (key: string, text: string) => T,
  ): Promise<ColdRange<T>> {
    const base = coldKey(this.tenantId, kind, '');
    const after = options.after === undefined ? {} : { after: base + options.after };
    const { entries, revision } = await this.#store.kv.range(base + under, { ...options, ...after });
    return {
      revision,
      length: entries.reduce((sum, { value }) => sum + value.length, 0),
      entries: entries.map(({ key, value, modRevision, createRevision }) => ({
        id: key.slice(base.length),
        record: read(key, value),
        modRevision,
        createRevision,
      })),
    };
  }

  watchCold(kind: keyof ColdRecords, afterRevision: number, handlers: WatchHandlers): Watch {
    return this.#store.kv.watch(coldKey(this.tenantId, kind, ''), afterRevision, handlers);
  }

  transaction(): Transaction {
    return new Transaction(this.tenantId);
  }

  commit(transaction: Transaction): Promise<CommitResult> {
    return this.#store.commit(transaction);
  }

  /** Told what a dry run would commit. Here it leaves nothing; see supposed.ts. */
  suppose(_would: () => Transaction): void {}

  /** By id, what is only supposed of a kind: the record as it would be, or none where it would be gone. */
  supposed<K extends keyof TenantRecords>(_kind: K): ReadonlyMap<string, TenantRecords[K] | undefined> {
    return new Map();
  }
}
