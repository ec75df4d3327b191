import { isRecord, parsedRecord } from '../../core/model/values.ts';
import { type TenantId, tenantId } from '../../core/model/ids.ts';
import { QUOTA_KINDS, type QuotaKind, type Stock } from '../../core/model/quota.ts';
import type { Stored } from './collection.ts';
import { standsForRows } from './deployment-rows.ts';
import { coldKey, isHot, kindOfKey, tenantOfKey } from './keys.ts';
import type { Commit } from './kv.ts';
import type { ColdRecords, TenantRecords } from './records.ts';
import type { SecretKind } from './owners.ts';
import type { Store } from './store.ts';

interface Counted {
  /** Records of this kind in the view; of `tokens`, by the tenant that they name. */
  readonly hot?: keyof TenantRecords | 'tokens';
  /** More of the view whose bytes count, not their number. */
  readonly alsoBytesOf?: readonly (keyof TenantRecords)[];
  /** Kept in the store alone: what is there is counted when it is first asked for, then kept up by the writes of this process. */
  readonly cold?: keyof ColdRecords | SecretKind;
}

/** What a quota counts as what. The copies of specs that instances run are left out: they go with the instances. */
const COUNTED: Readonly<Record<QuotaKind, Counted>> = {
  deployments: { hot: 'deployments', alsoBytesOf: ['canaries', 'scaling-policies'] },
  jobs: { hot: 'jobs' },
  networks: { hot: 'networks' },
  volumes: { hot: 'volumes' },
  nodes: { hot: 'nodes' },
  tokens: { hot: 'tokens' },
  secrets: { hot: 'credentials', cold: 'secret-docs' },
  webhooks: { hot: 'webhooks' },
  backups: { cold: 'backups' },
  archives: { cold: 'archives' },
  idempotency: { cold: 'idempotency' },
};

const KIND_OF = new Map<string, { readonly kind: QuotaKind; readonly counts: boolean }>();
for (const kind of QUOTA_KINDS) {
  const { hot, alsoBytesOf = [], cold } = COUNTED[kind];
  if (hot !== undefined) KIND_OF.set(hot, { kind, counts: true });
  for (const also of alsoBytesOf) KIND_OF.set(also, { kind, counts: false });
  if (cold !== undefined) KIND_OF.set(cold, { kind, counts: hot === undefined });
}

/** What a commit adds of one kind of one tenant; negative: it takes away. */
export interface Growth extends Stock {
  readonly tenantId: TenantId;
  readonly kind: QuotaKind;
  /** Of those bytes, what is held in memory. */
  readonly heldBytes: number;
  /** Of both, versions that the record of their deployment stands for. */
  readonly derived: Stock;
}

interface ColdCount {
  /** Too much rather than too little: what is removed or written over is known from the next count on. */
  stock: Stock;
  readonly countedAtMs: number;
}

/** A count is repeated at most this often, however often it is asked for. */
const RECOUNT_MS = 2_000;
/** Other control planes write too: their part is known after this long. */
const TRUSTED_MS = 600_000;
const NONE: Stock = { records: 0, bytes: 0 };
const NO_KINDS: readonly (keyof TenantRecords)[] = [];

/** What each tenant has stored, by the kinds that quotas name. */
export class StoreUsage {
  readonly #store: Store;
  readonly #nowMs: () => number;
  readonly #cold = new Map<string, ColdCount>();

  constructor(store: Store, nowMs: () => number = () => performance.now()) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Of what is in memory, at once; of the rest as it was last counted. */
  async of(tenantId: TenantId, kind: QuotaKind, exact = false): Promise<Stock> {
    const { cold } = COUNTED[kind];
    return this.#sum(
      tenantId,
      kind,
      cold === undefined ? NONE : await this.#coldStock(tenantId, cold, exact),
    );
  }

  /** Undefined: it would have to be counted. */
  known(tenantId: TenantId, kind: QuotaKind): Stock | undefined {
    const { cold } = COUNTED[kind];
    const stored = cold === undefined ? NONE : this.#trusted(`${tenantId}/${cold}`, TRUSTED_MS);
    return stored && this.#sum(tenantId, kind, stored);
  }

  #sum(tenantId: TenantId, kind: QuotaKind, stored: Stock): Stock {
    const { hot, alsoBytesOf = NO_KINDS } = COUNTED[kind];
    const { view } = this.#store;
    const held = hot === undefined ? NONE : view.stock(tenantId, hot);
    let also = 0;
    for (const other of alsoBytesOf) also += view.stock(tenantId, other).bytes;
    const derived = kind === 'archives' ? view.derived(tenantId) : NONE;
    return {
      records: hot === undefined ? stored.records + derived.records : held.records,
      bytes: held.bytes + also + stored.bytes + derived.bytes,
    };
  }

  async #coldStock(tenantId: TenantId, kind: string, exact: boolean): Promise<Stock> {
    const key = `${tenantId}/${kind}`;
    const trusted = this.#trusted(key, exact ? RECOUNT_MS : TRUSTED_MS);
    if (trusted !== undefined) return trusted;
    const stock = await this.#store.kv.size(coldKey(tenantId, kind, ''));
    this.#cold.set(key, { stock, countedAtMs: this.#nowMs() });
    return stock;
  }

  #trusted(key: string, forMs: number): Stock | undefined {
    const known = this.#cold.get(key);
    return known !== undefined && this.#nowMs() - known.countedAtMs <= forMs ? known.stock : undefined;
  }

  /** By tenant and kind, without those that stay as they are. Keys that are not in memory count as new. */
  growth(commit: Commit): readonly Growth[] {
    // Of a few kinds: looked through faster than found by a key that is made for it.
    const found: { -readonly [K in keyof Growth]: Growth[K] }[] = [];
    const growthOf = (tenantId: TenantId, kind: QuotaKind) => {
      let growth = found.find((one) => one.kind === kind && one.tenantId === tenantId);
      if (growth === undefined) {
        growth = { tenantId, kind, records: 0, bytes: 0, heldBytes: 0, derived: NONE };
        found.push(growth);
      }
      return growth;
    };
    const add = (key: string, value: string | undefined, record?: object): void => {
      const counted = KIND_OF.get(kindOfKey(key));
      if (counted === undefined) return;
      const tenantId = tenantOfKey(key) ?? tenantNamed(value);
      if (tenantId === undefined) return;
      const held = this.#store.view.stored(key);
      const size = value === undefined ? 0 : Buffer.byteLength(value);
      const bytes = size - (held?.bytes ?? 0);
      const records = (value === undefined ? 0 : 1) - (held?.bytes === undefined ? 0 : 1);
      const growth = growthOf(tenantId, counted.kind);
      if (counted.counts) growth.records += records;
      growth.bytes += bytes;
      if (isHot(key)) growth.heldBytes += bytes;
      if (counted.kind !== 'deployments' || !counted.counts) return;
      const was = derivedBytes(held);
      const is = standsForRows(record) ? size : undefined;
      if (was === undefined && is === undefined) return;
      // An order for instances makes no version longer.
      if (is !== undefined && isSameVersion(held, record)) return;
      const history = growthOf(tenantId, 'archives');
      const moved = {
        records: (is === undefined ? 0 : 1) - (was === undefined ? 0 : 1),
        bytes: (is ?? 0) - (was ?? 0),
      };
      history.records += moved.records;
      history.bytes += moved.bytes;
      history.derived = {
        records: history.derived.records + moved.records,
        bytes: history.derived.bytes + moved.bytes,
      };
    };
    for (const { key, value, record } of commit.puts ?? []) add(key, value, record);
    for (const key of commit.deletes ?? []) add(key, undefined);
    return found;
  }

  /** Of what is not in memory, by a commit of this process that knows what it removed. */
  removed(tenantId: TenantId, kind: QuotaKind, { records, bytes }: Stock): void {
    const { cold } = COUNTED[kind];
    const known = cold && this.#cold.get(`${tenantId}/${cold}`);
    if (known === undefined) return;
    known.stock = {
      records: Math.max(0, known.stock.records - records),
      bytes: Math.max(0, known.stock.bytes - bytes),
    };
  }

  /** After a commit of this process. */
  committed(growth: readonly Growth[]): void {
    for (const { tenantId, kind, records, bytes, heldBytes, derived } of growth) {
      const { hot, cold } = COUNTED[kind];
      const known = cold && this.#cold.get(`${tenantId}/${cold}`);
      if (known === undefined) continue;
      known.stock = {
        records: known.stock.records + (hot === undefined ? Math.max(0, records - derived.records) : 0),
        bytes: known.stock.bytes + Math.max(0, bytes - heldBytes - derived.bytes),
      };
    }
  }
}

/** Of the record under a key of deployments, if it stands for a version. */
function derivedBytes(stored: Stored<unknown> | undefined): number | undefined {
  return stored !== undefined && standsForRows(stored.record) ? (stored.bytes ?? 0) : undefined;
}

/** It stands for the version that the record before it stood for. */
function isSameVersion(stored: Stored<unknown> | undefined, record: object | undefined): boolean {
  const before = stored?.record;
  if (!isRecord(before) || !isRecord(record) || !standsForRows(before)) return false;
  return before['version'] === record['version'];
}

/** Tokens are stored platform-wide and say whose they are. */
function tenantNamed(value: string | undefined): TenantId | undefined {
  if (value === undefined) return undefined;
  const named = parsedRecord(value)['tenantId'];
  return typeof named === 'string' ? tenantId(named) : undefined;
}
