import { recordOf } from './values.ts';

/** What a tenant may have stored, by the kinds that a quota names. */
export const QUOTA_KINDS = [
  'deployments',
  'jobs',
  'networks',
  'volumes',
  'nodes',
  'tokens',
  'secrets',
  'webhooks',
  'backups',
  'archives',
  'idempotency',
] as const;

export type QuotaKind = (typeof QUOTA_KINDS)[number];

export type KindAmounts = Readonly<Partial<Record<QuotaKind, number>>>;

/** Records and bytes of one kind. */
export interface Stock {
  readonly records: number;
  readonly bytes: number;
}

export const QUOTA_MEASURES = ['records', 'bytes'] as const;
export type QuotaMeasure = (typeof QUOTA_MEASURES)[number];

export type StockLimits = Readonly<Record<QuotaKind, Stock>>;

const MIB = 2 ** 20;

/** For a tenant whose quota says nothing of the kind: far above what is met with, far below what would hurt others. */
const DEFAULT_STOCK: StockLimits = {
  deployments: { records: 20_000, bytes: 64 * MIB },
  jobs: { records: 20_000, bytes: 64 * MIB },
  networks: { records: 2_000, bytes: 8 * MIB },
  volumes: { records: 20_000, bytes: 32 * MIB },
  nodes: { records: 20_000, bytes: 64 * MIB },
  tokens: { records: 50_000, bytes: 64 * MIB },
  secrets: { records: 20_000, bytes: 256 * MIB },
  webhooks: { records: 50, bytes: MIB },
  backups: { records: 1_000, bytes: 1024 * MIB },
  archives: { records: 1_000_000, bytes: 2048 * MIB },
  idempotency: { records: 1_000_000, bytes: 512 * MIB },
};

/** What holds for a tenant: its own quota where it says something, else the default. */
export function stockLimit(
  quota: { readonly records?: KindAmounts; readonly bytes?: KindAmounts } | undefined,
  defaults: StockLimits,
  kind: QuotaKind,
): Stock {
  return {
    records: quota?.records?.[kind] ?? defaults[kind].records,
    bytes: quota?.bytes?.[kind] ?? defaults[kind].bytes,
  };
}

/** Kinds whose records are held in memory: their bytes are bounded by it too. */
const HELD: ReadonlySet<QuotaKind> = new Set([
  'deployments',
  'jobs',
  'networks',
  'volumes',
  'nodes',
  'tokens',
  'webhooks',
]);
const SHARE_OF_HEAP = 32;
const LEAST_BYTES = 4 * MIB;

/** What the platform sets, else what is built in. */
export function defaultStock(
  set: { readonly records: KindAmounts; readonly bytes: KindAmounts },
  heapBytes: number,
): StockLimits {
  const ofHeap = Math.max(LEAST_BYTES, Math.floor(heapBytes / SHARE_OF_HEAP));
  return recordOf(QUOTA_KINDS, (kind) => {
    const { records, bytes } = DEFAULT_STOCK[kind];
    const most = HELD.has(kind) ? Math.min(bytes, ofHeap) : bytes;
    return { records: set.records[kind] ?? records, bytes: set.bytes[kind] ?? most };
  });
}
