import type { TenantId } from '../../core/model/ids.ts';
import type { Stored } from './collection.ts';
import { coldKey, globalKey, tenantKey } from './keys.ts';
import type { Commit, Guard, Put } from './kv.ts';
import { type ColdRecords, encodeRecord, type GlobalRecords, type TenantRecords } from './records.ts';

/** One guarded, all-or-nothing commit in the making, bound to one tenant. */
export class Transaction {
  readonly #tenantId: TenantId;
  readonly #guards: Guard[] = [];
  readonly #puts: Put[] = [];
  readonly #deletes: string[] = [];
  #onDurable: Commit['onDurable'];
  /** Whether the record of a deployment may stand for its snapshot and its version (`deployment-rows.ts`). */
  readonly derivesRows: boolean;

  constructor(tenantId: TenantId, derivesRows = true) {
    this.#tenantId = tenantId;
    this.derivesRows = derivesRows;
  }

  get tenantId(): TenantId {
    return this.#tenantId;
  }

  /** The commit fails if the record is not as it was read; `undefined`: if it exists. */
  expect<K extends keyof TenantRecords>(
    kind: K,
    id: string,
    stored: Stored<TenantRecords[K]> | undefined,
  ): this {
    this.#guards.push({ key: tenantKey(this.#tenantId, kind, id), modRevision: stored?.modRevision ?? 0 });
    return this;
  }

  put<K extends keyof TenantRecords>(kind: K, id: string, record: TenantRecords[K]): this {
    this.#puts.push({ key: tenantKey(this.#tenantId, kind, id), value: encodeRecord(record), record });
    return this;
  }

  /** A commit has a key once. */
  hasPut(kind: keyof TenantRecords, id: string): boolean {
    const key = tenantKey(this.#tenantId, kind, id);
    return this.#puts.some((put) => put.key === key);
  }

  delete(kind: keyof TenantRecords, id: string): this {
    this.#deletes.push(tenantKey(this.#tenantId, kind, id));
    return this;
  }

  expectCold<K extends keyof ColdRecords>(
    kind: K,
    id: string,
    stored: Stored<ColdRecords[K]> | undefined,
  ): this {
    this.#guards.push({ key: coldKey(this.#tenantId, kind, id), modRevision: stored?.modRevision ?? 0 });
    return this;
  }

  putCold<K extends keyof ColdRecords>(kind: K, id: string, record: ColdRecords[K]): this {
    this.#puts.push({ key: coldKey(this.#tenantId, kind, id), value: encodeRecord(record) });
    return this;
  }

  deleteCold(kind: keyof ColdRecords, id: string): this {
    this.#deletes.push(coldKey(this.#tenantId, kind, id));
    return this;
  }

  expectGlobal<K extends keyof GlobalRecords>(
    kind: K,
    id: string,
    stored: Stored<GlobalRecords[K]> | undefined,
  ): this {
    this.#guards.push({ key: globalKey(kind, id), modRevision: stored?.modRevision ?? 0 });
    return this;
  }

  putGlobal<K extends keyof GlobalRecords>(kind: K, id: string, record: GlobalRecords[K]): this {
    this.#puts.push({ key: globalKey(kind, id), value: encodeRecord(record), record });
    return this;
  }

  deleteGlobal(kind: keyof GlobalRecords, id: string): this {
    this.#deletes.push(globalKey(kind, id));
    return this;
  }

  /** Parts planned by another owner of the same tenant's keys (the secrets store), to share this commit. */
  include(parts: Commit): this {
    this.#guards.push(...(parts.guards ?? []));
    this.#puts.push(...(parts.puts ?? []));
    this.#deletes.push(...(parts.deletes ?? []));
    return this;
  }

  /** See `Commit.onDurable`: it is called by some stores only, and not before the view takes part in the same turn. */
  whenDurable(call: (revision: number) => void): this {
    this.#onDurable = call;
    return this;
  }

  toCommit(): Commit {
    const commit = { guards: this.#guards, puts: this.#puts, deletes: this.#deletes };
    return this.#onDurable === undefined ? commit : { ...commit, onDurable: this.#onDurable };
  }
}
