import { Collection } from './collection.ts';
import type { CommitResult } from './kv.ts';
import type { TenantRecords } from './records.ts';
import { TenantStore } from './store.ts';
import { Transaction } from './transaction.ts';

type Copies = { [K in keyof TenantRecords]?: Collection<TenantRecords[K]> };

/** Remembers what it would put, to be looked at instead of committed. */
class SupposedTransaction extends Transaction {
  readonly steps: ((store: SupposedStore) => void)[] = [];

  override put<K extends keyof TenantRecords>(kind: K, id: string, record: TenantRecords[K]): this {
    this.steps.push((store) => store.hold(kind, id, record));
    return super.put(kind, id, record);
  }

  override delete(kind: keyof TenantRecords, id: string): this {
    this.steps.push((store) => store.drop(kind, id));
    return super.delete(kind, id);
  }
}

/** A tenant's records as they would be after writes that were only tried: reads see them, and nothing can be committed. */
export class SupposedStore extends TenantStore {
  readonly #copies: Copies = {};
  readonly #changed: { [K in keyof TenantRecords]?: Map<string, TenantRecords[K] | undefined> } = {};

  override collection<K extends keyof TenantRecords>(kind: K): Collection<TenantRecords[K]> {
    return this.#copies[kind] ?? super.collection(kind);
  }

  override transaction(): Transaction {
    return new SupposedTransaction(this.tenantId);
  }

  override suppose(would: Transaction): void {
    if (would instanceof SupposedTransaction) for (const step of would.steps) step(this);
  }

  override commit(): Promise<CommitResult> {
    throw new Error('what is only supposed is never stored');
  }

  hold<K extends keyof TenantRecords>(kind: K, id: string, record: TenantRecords[K]): void {
    this.#copy(kind).set({ id, record, modRevision: 0, createRevision: 0 });
    this.#changes(kind).set(id, record);
  }

  drop(kind: keyof TenantRecords, id: string): void {
    this.#copy(kind).delete(id);
    this.#changes(kind).set(id, undefined);
  }

  override supposed<K extends keyof TenantRecords>(
    kind: K,
  ): ReadonlyMap<string, TenantRecords[K] | undefined> {
    return this.#changed[kind] ?? super.supposed(kind);
  }

  #changes<K extends keyof TenantRecords>(kind: K): Map<string, TenantRecords[K] | undefined> {
    const known: Map<string, TenantRecords[K] | undefined> | undefined = this.#changed[kind];
    if (known !== undefined) return known;
    const made = new Map<string, TenantRecords[K] | undefined>();
    const changed: { [P in K]?: Map<string, TenantRecords[P] | undefined> } = this.#changed;
    changed[kind] = made;
    return made;
  }

  #copy<K extends keyof TenantRecords>(kind: K): Collection<TenantRecords[K]> {
    const held: Collection<TenantRecords[K]> | undefined = this.#copies[kind];
    if (held !== undefined) return held;
    const known = super.collection(kind);
    const copy = new Collection<TenantRecords[K]>(known.otherId);
    for (const stored of known.list()) copy.set(stored);
    const copies: { [P in K]?: Collection<TenantRecords[P]> } = this.#copies;
    copies[kind] = copy;
    return copy;
  }
}
