import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { ArchiveRecord } from '../../core/model/event.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Collection, CollectionPage, Stored } from './collection.ts';
import { archiveId, archiveRecord } from './deployment-rows.ts';
import { coldKey, isHot } from './keys.ts';
import type { CommitResult, Kv, RangeOptions, WatchHandlers, Watch } from './kv.ts';
import {
  type ColdRecords,
  decodeRecord,
  type GlobalRecords,
  recordText,
  type TenantRecords,
} from './records.ts';
import { idOf, prefixOf } from './record-ids.ts';
import { Transaction } from './transaction.ts';
import type { StoreView } from './view.ts';

/** The store as the rest of the server sees it: reads from the view, guarded commits, a handle per tenant. */
export class Store {
  readonly kv: Kv;
  readonly view: StoreView;
  /** False while a control plane that shares the store reads an earlier format only. */
  readonly derivesRows: () => boolean;
  #underWay = 0;
  /** The newest commit that the view did not reach in time. */
  #missed = 0;

  constructor(kv: Kv, view: StoreView, derivesRows: () => boolean = () => true) {
    this.kv = kv;
    this.view = view;
    this.derivesRows = derivesRows;
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

  /** Something is being committed. */
  get isBusy(): boolean {
    return this.#underWay > 0;
  }

  /** Whether the view follows the store and has every commit that was acknowledged here. */
  get isCurrent(): boolean {
    return this.view.isFollowing && this.view.revision >= this.#missed;
  }

  /** Durable when it resolves, and already visible in the view. */
  async commit(transaction: Transaction): Promise<CommitResult> {
    this.#underWay += 1;
    try {
      return await this.#commit(transaction);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #commit(transaction: Transaction): Promise<CommitResult> {
    const commit = transaction.toCommit();
    const { onDurable } = commit;
    const result = await this.kv.commit(
      onDurable === undefined
        ? commit
        : // Whoever hears of it may ask for it at once.
          { ...commit, onDurable: (revision) => this.view.isNext(revision) && onDurable(revision) },
    );
    if (!result.ok || this.view.revision >= result.revision) return result;
    const touchesView =
      commit.puts?.some((put) => isHot(put.key)) || commit.deletes?.some((key) => isHot(key));
    if (touchesView && !(await this.view.reached(result.revision)))
      this.#missed = Math.max(this.#missed, result.revision);
    return result;
  }
}

/** Of the versions of one deployment. */
function underOf(deployment: string): string {
  return `${prefixOf('archives', deployment)}/`;
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

  /**
   * Versions of a deployment in their order. The newest may be the record itself: read from the view first, so that one that is stored meanwhile
   * is found in the store.
   */
  archives(
    deployment: string,
    options: RangeOptions = {},
  ): Promise<ColdRange<ArchiveRecord<DeploymentSpec>>> {
    const newest = this.#newest(deployment, options);
    return this.#withNewest(this.rangeCold('archives', underOf(deployment), options), options, newest);
  }

  archivesText(deployment: string, options: RangeOptions = {}): Promise<ColdRange<string>> {
    const newest = this.#newest(deployment, options);
    const range = this.rangeColdText('archives', underOf(deployment), options);
    return this.#withNewest(range, options, newest && { ...newest, record: JSON.stringify(newest.record) });
  }

  async archived(deployment: string, version: number): Promise<ArchiveRecord<DeploymentSpec> | undefined> {
    const newest = this.#newest(deployment);
    const id = archiveId(deployment, version);
    return newest?.id === id ? newest.record : (await this.getCold('archives', id))?.record;
  }

  /** As stored, also where a store of suppositions has another record. */
  #newest(
    deployment: string,
    { after }: RangeOptions = {},
  ): Stored<ArchiveRecord<DeploymentSpec>> | undefined {
    const deployments = this.#store.view.tenant(this.tenantId, 'deployments');
    const stored = deployments.get(idOf('deployments', deployment));
    const origin = stored?.record.newest;
    if (stored === undefined || origin === undefined) return undefined;
    const id = archiveId(deployment, stored.record.version);
    return after !== undefined && id <= after
      ? undefined
      : { ...stored, id, record: archiveRecord(stored.record, origin) };
  }

  async #withNewest<T>(
    reading: Promise<ColdRange<T>>,
    { limit = Number.POSITIVE_INFINITY }: RangeOptions,
    newest: Stored<T> | undefined,
  ): Promise<ColdRange<T>> {
    const range = await reading;
    const { entries } = range;
    if (newest === undefined || entries.length >= limit || (entries.at(-1)?.id ?? '') >= newest.id)
      return range;
    return { ...range, entries: [...entries, newest], length: range.length + (newest.bytes ?? 0) };
  }

  watchCold(kind: keyof ColdRecords, afterRevision: number, handlers: WatchHandlers): Watch {
    return this.#store.kv.watch(coldKey(this.tenantId, kind, ''), afterRevision, handlers);
  }

  transaction(): Transaction {
    return new Transaction(this.tenantId, this.#store.derivesRows());
  }

  commit(transaction: Transaction): Promise<CommitResult> {
    return this.#store.commit(transaction);
  }

  /** Told what a dry run would commit. Here it leaves nothing; see supposed.ts. */
  suppose(_would: Transaction): void {}

  /** By id, what is only supposed of a kind: the record as it would be, or none where it would be gone. */
  supposed<K extends keyof TenantRecords>(_kind: K): ReadonlyMap<string, TenantRecords[K] | undefined> {
    return new Map();
  }
}
