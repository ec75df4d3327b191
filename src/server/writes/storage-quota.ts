import type { TenantId } from '../../core/model/ids.ts';
import {
  QUOTA_KINDS,
  QUOTA_MEASURES,
  type QuotaKind,
  type QuotaMeasure,
  type Stock,
  type StockLimits,
  stockLimit,
} from '../../core/model/quota.ts';
import { recordOf } from '../../core/model/values.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Actor } from '../journal/journal.ts';
import type { MemoryBrake } from '../memory-brake.ts';
import type { Commit } from '../store/kv.ts';
import type { Store } from '../store/store.ts';
import { type Growth, StoreUsage } from '../store/usage.ts';
import type { ArchiveTrim } from './archive-trim.ts';

export interface StorageQuotaOptions {
  readonly store: Store;
  readonly defaults: StockLimits;
  readonly brake?: MemoryBrake;
  /** Frees space for history; absent: what does not fit is refused. */
  readonly archiveTrim?: ArchiveTrim;
}

/** A version has one digit more than the last: an update may grow so much at the limit, until this share above it. */
const UNNOTICED_BYTES = 64;
const UNNOTICED_ABOVE = 1.05;
/** Of the limit of history, what is removed beyond what is needed: not every write at the limit looks for something to remove. */
const SPARE_SHARE = 64;
/** A write that adds less to memory than this is let through while there is little of it. */
const SMALL_BYTES = 1024;
const RETRY_AFTER_SECONDS = 10;

const HOW: Readonly<Record<QuotaKind, string>> = {
  deployments: 'Delete deployments or make their specs smaller',
  jobs: 'Delete jobs or make their specs smaller',
  networks: 'Delete networks',
  volumes: 'Delete volumes',
  nodes: 'Release nodes',
  tokens: 'Revoke tokens',
  secrets: 'Delete secrets',
  webhooks: 'Delete webhooks',
  backups: 'Delete backups',
  archives:
    'Older versions go by themselves, first of deleted deployments, then of others except their last 16, and nothing more can go: delete deployments',
  idempotency: 'Send the request without Idempotency-Key, or wait: answers are kept for 24 hours',
};

/** Admits what a write adds: within the tenant's quota, and within the memory of this process. */
export class StorageQuota {
  readonly #options: StorageQuotaOptions;
  readonly #usage: StoreUsage;

  constructor(options: StorageQuotaOptions) {
    this.#options = options;
    this.#usage = new StoreUsage(options.store);
  }

  growth(commit: Commit): readonly Growth[] {
    return this.#usage.growth(commit);
  }

  /** By what is known without counting: nearly every write does. */
  fits(growth: readonly Growth[]): boolean {
    return growth.every((one) => this.#certainlyFits(one));
  }

  /** History last: room is made for it only when nothing else is in the way. */
  refusal(growth: readonly Growth[], actor: Actor): Promise<Rejection | undefined> | Rejection | undefined {
    return this.fits(growth) ? this.#memoryRefusal(growth) : this.#countedRefusal(growth, actor);
  }

  /** Of a dry run, beside what others would add. History makes its own room, and nothing is added to memory. */
  async supposedRefusal(
    growth: readonly Growth[],
    others: readonly Growth[] = [],
  ): Promise<Rejection | undefined> {
    for (const one of growth.filter((each) => !isHistory(each))) {
      const refused = await this.#quotaRefusal(one, undefined, others);
      if (refused) return refused;
    }
    return undefined;
  }

  async #countedRefusal(growth: readonly Growth[], actor: Actor): Promise<Rejection | undefined> {
    for (const one of growth.filter((each) => !isHistory(each))) {
      const refused = await this.#quotaRefusal(one, actor);
      if (refused) return refused;
    }
    const low = this.#memoryRefusal(growth);
    if (low) return low;
    // A deletion writes a last version, and is how room is made: it goes first when there is too much.
    if (growth.some(({ kind, records }) => kind === 'deployments' && records < 0)) return undefined;
    const history = growth.find(isHistory);
    return history && this.#quotaRefusal(history, actor);
  }

  /** Of a commit that was stored. */
  committed(growth: readonly Growth[]): void {
    this.#usage.committed(growth);
    for (const { heldBytes } of growth) this.#options.brake?.added(heldBytes);
  }

  limit(tenantId: TenantId, kind: QuotaKind): Stock {
    const { store, defaults } = this.#options;
    return stockLimit(store.view.tenant(tenantId, 'quota').get('quota')?.record, defaults, kind);
  }

  /** What a tenant has of every kind, and what it may have. */
  async usage(tenantId: TenantId): Promise<Usage> {
    const used = new Map<QuotaKind, Stock>();
    for (const kind of QUOTA_KINDS) used.set(kind, await this.#usage.of(tenantId, kind));
    return recordOf(QUOTA_MEASURES, (measure) =>
      recordOf(QUOTA_KINDS, (kind) => ({
        used: used.get(kind)?.[measure] ?? 0,
        limit: this.limit(tenantId, kind)[measure],
      })),
    );
  }

  /** What is known without counting. */
  known(tenantId: TenantId): readonly KnownUse[] {
    const quota = this.#options.store.forTenant(tenantId).get('quota', 'quota')?.record;
    return QUOTA_KINDS.flatMap((kind) => {
      const used = this.#usage.known(tenantId, kind);
      const limit = stockLimit(quota, this.#options.defaults, kind);
      if (used === undefined) return [];
      return QUOTA_MEASURES.map((measure) => ({
        resource: `${measure}.${kind}`,
        used: used[measure],
        limit: limit[measure],
        isOwn: quota?.[measure]?.[kind] !== undefined,
      }));
    });
  }

  #certainlyFits(growth: Growth): boolean {
    const used = this.#usage.known(growth.tenantId, growth.kind);
    if (used === undefined) return false;
    const limit = this.limit(growth.tenantId, growth.kind);
    for (const measure of QUOTA_MEASURES) if (isOver(growth, used, limit, measure)) return false;
    return true;
  }

  /** Without an actor nothing is removed to make room. */
  async #quotaRefusal(
    growth: Growth,
    actor?: Actor,
    others: readonly Growth[] = [],
  ): Promise<Rejection | undefined> {
    const { tenantId, kind } = growth;
    if (growth.records <= 0 && growth.bytes <= 0) return undefined;
    const limit = this.limit(tenantId, kind);
    for (const exact of [false, true]) {
      const used = withOthers(await this.#usage.of(tenantId, kind, exact), growth, others);
      const over = QUOTA_MEASURES.find((measure) => isOver(growth, used, limit, measure));
      if (over === undefined) return undefined;
      if (!exact) continue;
      if (actor && kind === 'archives' && (await this.#madeRoom(growth, used, limit, actor)))
        return undefined;
      return quotaExceeded(kind, over, used[over], growth[over], limit[over]);
    }
    return undefined;
  }

  /** Enough when it fits, or no more is added than went: a quota that was lowered is reached by and by. */
  async #madeRoom(growth: Growth, used: Stock, limit: Stock, actor: Actor): Promise<boolean> {
    const trim = this.#options.archiveTrim;
    if (trim === undefined) return false;
    const wanted = { records: 0, bytes: 0 };
    const least = { records: 0, bytes: 0 };
    for (const measure of QUOTA_MEASURES.filter((each) => isOver(growth, used, limit, each))) {
      const over = used[measure] + growth[measure] - limit[measure];
      wanted[measure] = over + Math.floor(limit[measure] / SPARE_SHARE);
      least[measure] = Math.min(over, growth[measure]);
    }
    const went = await trim.free(growth.tenantId, wanted, least, actor);
    this.#usage.removed(growth.tenantId, growth.kind, went);
    return QUOTA_MEASURES.every((measure) => went[measure] >= least[measure]);
  }

  #memoryRefusal(growth: readonly Growth[]): Rejection | undefined {
    const { brake, store } = this.#options;
    const first = growth.find(({ records, heldBytes }) => heldBytes > (records > 0 ? 0 : SMALL_BYTES));
    if (brake === undefined || first === undefined) return undefined;
    const pressure = brake.pressure();
    if (pressure === 'none' || (pressure === 'tight' && !holdsMost(store, first.tenantId))) return undefined;
    return {
      ...reject('memory_low', {
        field: 'server',
        received: `(${Math.round(brake.share * 100)} % of ${formatBytes(brake.limitBytes)} in use)`,
        why:
          pressure === 'full'
            ? 'The control plane has nearly no memory left, so that nothing is added. Reads, deletions and what runs go on. Delete what is not needed, or let an operator give the control plane more memory.'
            : 'The control plane is short of memory, and this tenant has more stored than others, so that nothing is added to it. Delete what is not needed, or let an operator give the control plane more memory.',
      }),
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    };
  }
}

export type Usage = Readonly<Record<QuotaMeasure, Readonly<Record<QuotaKind, UsedOf>>>>;

/** As the quota names it, and whether it says so itself. */
interface KnownUse extends UsedOf {
  readonly resource: string;
  readonly isOwn: boolean;
}

interface UsedOf {
  readonly used: number;
  readonly limit: number;
}

function isHistory({ kind }: Growth): boolean {
  return kind === 'archives';
}

function withOthers(stored: Stock, { tenantId, kind }: Growth, others: readonly Growth[]): Stock {
  return others
    .filter((one) => one.kind === kind && one.tenantId === tenantId)
    .reduce(
      (sum, { records, bytes }) => ({ records: sum.records + records, bytes: sum.bytes + bytes }),
      stored,
    );
}

function isOver(growth: Growth, used: Stock, limit: Stock, measure: QuotaMeasure): boolean {
  if (growth[measure] <= 0 || used[measure] + growth[measure] <= limit[measure]) return false;
  const isUnnoticed = growth.records <= 0 && growth.bytes <= UNNOTICED_BYTES;
  return !isUnnoticed || used[measure] > limit[measure] * UNNOTICED_ABOVE;
}

function quotaExceeded(
  kind: QuotaKind,
  measure: QuotaMeasure,
  used: number,
  more: number,
  limit: number,
): Rejection {
  return reject('quota_exceeded', {
    field: `quota.${measure}.${kind}`,
    received: `${used + more} (${used} stored, ${more} more)`,
    expected: `at most ${limit}`,
    why: `The tenant may store ${limit} ${measure} of ${kind} and would have ${used + more}. ${HOW[kind]}, or let a platform administrator raise the quota with PUT /api/v1/tenants/{tenant}/quota.`,
  });
}

/** More than an equal share of what all tenants have stored. */
function holdsMost({ view }: Store, tenantId: TenantId): boolean {
  const ids = view.tenantIds();
  const whole = ids.reduce((sum, id) => sum + view.bytesOf(id), 0);
  return view.bytesOf(tenantId) * ids.length >= whole;
}
