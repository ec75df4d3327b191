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
import { formatBytes } from '../../core/model/quantity.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { MemoryBrake } from '../memory-brake.ts';
import type { Commit } from '../store/kv.ts';
import type { Store } from '../store/store.ts';
import { type Growth, StoreUsage } from '../store/usage.ts';

export interface RoomOptions {
  readonly store: Store;
  readonly defaults: StockLimits;
  readonly brake?: MemoryBrake;
}

/** A version has one digit more than the last: an update may grow so much at the limit, until this share above it. */
const UNNOTICED_BYTES = 64;
const UNNOTICED_ABOVE = 1.05;
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
  backups: 'Delete backups',
  archives: 'Delete deployments: the history of deleted ones goes first when there is too much',
  idempotency: 'Send the request without Idempotency-Key, or wait: answers are kept for 24 hours',
};

/** Whether what a write adds fits: into the tenant's quota, and into the memory of this process. */
export class Room {
  readonly #options: RoomOptions;
  readonly #usage: StoreUsage;

  constructor(options: RoomOptions) {
    this.#options = options;
    this.#usage = new StoreUsage(options.store);
  }

  growth(commit: Commit): readonly Growth[] {
    return this.#usage.growth(commit);
  }

  async refusal(growth: readonly Growth[]): Promise<Rejection | undefined> {
    for (const one of growth) {
      const refused = await this.#quotaRefusal(one);
      if (refused) return refused;
    }
    return this.#memoryRefusal(growth);
  }

  /** Of a commit that was stored. */
  committed(growth: readonly Growth[]): void {
    this.#usage.committed(growth);
    for (const { heldBytes } of growth) this.#options.brake?.added(heldBytes);
  }

  limit(tenantId: TenantId, kind: QuotaKind): Stock {
    const { store, defaults } = this.#options;
    return stockLimit(store.forTenant(tenantId).get('quota', 'quota')?.record, defaults, kind);
  }

  /** What a tenant has of every kind, and what it may have. */
  async usage(tenantId: TenantId): Promise<Usage> {
    const usage: Record<QuotaMeasure, Record<string, UsedOf>> = { records: {}, bytes: {} };
    for (const kind of QUOTA_KINDS) {
      const used = await this.#usage.of(tenantId, kind);
      const limit = this.limit(tenantId, kind);
      for (const measure of QUOTA_MEASURES)
        usage[measure][kind] = { used: used[measure], limit: limit[measure] };
    }
    return usage as Usage;
  }

  async #quotaRefusal(growth: Growth): Promise<Rejection | undefined> {
    const { tenantId, kind } = growth;
    if (growth.records <= 0 && growth.bytes <= 0) return undefined;
    const limit = this.limit(tenantId, kind);
    for (const exact of [false, true]) {
      const used = await this.#usage.of(tenantId, kind, exact);
      const over = QUOTA_MEASURES.find((measure) => isOver(growth, used, limit, measure));
      if (over === undefined) return undefined;
      if (exact) return quotaExceeded(kind, over, used[over], growth[over], limit[over]);
    }
    return undefined;
  }

  #memoryRefusal(growth: readonly Growth[]): Rejection | undefined {
    const { brake, store } = this.#options;
    const added = growth.filter(({ records, heldBytes }) => heldBytes > (records > 0 ? 0 : SMALL_BYTES));
    const [first] = added;
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

interface UsedOf {
  readonly used: number;
  readonly limit: number;
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
