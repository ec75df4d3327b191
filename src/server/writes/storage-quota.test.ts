import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { defaultStock } from '../../core/model/quota.ts';
import { MemoryBrake } from '../memory-brake.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import { StorageQuota } from './storage-quota.ts';

const SHOP = 'shop' as TenantId;
const BANK = 'bank' as TenantId;
const MIB = 2 ** 20;

let store: Store;
let quota: StorageQuota;
let live: number;

beforeEach(async () => {
  const kv = createMemoryKv();
  store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  live = 0;
  const heap = {
    usedBytes: () => live,
    limitBytes: () => 1000,
    onCollected: () => undefined,
    collect: () => undefined,
  };
  quota = new StorageQuota({
    store,
    defaults: defaultStock({ records: { networks: 2 }, bytes: { jobs: 5000 } }, 1024 * MIB),
    brake: new MemoryBrake(heap, 0.8),
  });
});

/** Refused with this code and field, or stored. */
async function write(transaction: Transaction): Promise<string> {
  const growth = quota.growth(transaction.toCommit());
  const refused = await quota.refusal(growth, { requestId: 'r' });
  if (refused) return `${refused.code} ${refused.field}`;
  await store.commit(transaction);
  quota.committed(growth);
  return 'stored';
}

const job = (tenantId: TenantId, name: string, length = 1) =>
  new Transaction(tenantId).put('jobs', name, { text: 'x'.repeat(length) } as never);
const network = (name: string) => new Transaction(SHOP).put('networks', name, { name } as never);

describe('a quota', () => {
  it('counts records, and takes deletions and updates at the limit', async () => {
    expect([await write(network('a')), await write(network('b'))]).toEqual(['stored', 'stored']);
    expect(await write(network('c'))).toBe('quota_exceeded quota.records.networks');
    expect(await write(network('a'))).toBe('stored');
    expect(await write(new Transaction(SHOP).delete('networks', 'a'))).toBe('stored');
    expect(await write(network('c'))).toBe('stored');
  });

  it('counts bytes, and takes what shrinks when it is over', async () => {
    expect(await write(job(SHOP, 'a', 4000))).toBe('stored');
    expect(await write(job(SHOP, 'b', 2000))).toBe('quota_exceeded quota.bytes.jobs');
    expect(await write(job(SHOP, 'a', 6000))).toBe('quota_exceeded quota.bytes.jobs');
    await store.commit(job(SHOP, 'a', 9000));
    expect(await write(job(SHOP, 'a', 8000))).toBe('stored');
    expect(await write(job(BANK, 'b', 2000))).toBe('stored');
  });

  it("is the tenant's own where it says something", async () => {
    await store.commit(
      new Transaction(SHOP).put('quota', 'quota', { records: { networks: 0 }, bytes: { jobs: 9000 } }),
    );
    expect(await write(network('a'))).toBe('quota_exceeded quota.records.networks');
    expect(await write(job(SHOP, 'a', 8000))).toBe('stored');
    expect((await quota.usage(SHOP)).bytes['jobs']).toEqual({ used: 8017, limit: 9000 });
  });

  it('counts tokens for the tenant that they name, and history that is not in memory', async () => {
    await store.commit(new Transaction(SHOP).put('quota', 'quota', { records: { tokens: 1, backups: 1 } }));
    const token = (id: string) =>
      new Transaction(BANK).putGlobal('tokens', id, { id, tenantId: SHOP } as never);
    const backup = (id: string) => new Transaction(SHOP).putCold('backups', id, { id } as never);
    expect([await write(token('a')), await write(token('b'))]).toEqual([
      'stored',
      'quota_exceeded quota.records.tokens',
    ]);
    expect([await write(backup('a')), await write(backup('b'))]).toEqual([
      'stored',
      'quota_exceeded quota.records.backups',
    ]);
    expect(await write(new Transaction(SHOP).deleteGlobal('tokens', 'a'))).toBe('stored');
    expect(await write(token('b'))).toBe('stored');
  });
});

describe('little memory', () => {
  it('is refused to who holds most, then to all; what shrinks or is small goes on', async () => {
    await store.commit(job(SHOP, 'a', 4000));
    await store.commit(job(BANK, 'a', 1000));
    live = 740;
    expect(await write(job(SHOP, 'b'))).toBe('memory_low server');
    expect(await write(job(BANK, 'b'))).toBe('stored');
    live = 850;
    expect(await write(job(BANK, 'c'))).toBe('memory_low server');
    expect(await write(job(BANK, 'a', 1500))).toBe('stored');
    expect(await write(job(SHOP, 'a', 10))).toBe('stored');
    expect(await write(new Transaction(SHOP).delete('jobs', 'a'))).toBe('stored');
    live = 500;
    expect(await write(job(SHOP, 'b'))).toBe('stored');
  });
});

describe('the defaults', () => {
  it('follow the heap where records are held in it', () => {
    const stock = defaultStock({ records: {}, bytes: {} }, 256 * MIB);
    expect([stock.deployments.bytes, stock.backups.bytes, stock.jobs.records]).toEqual([
      8 * MIB,
      1024 * MIB,
      20_000,
    ]);
    expect(defaultStock({ records: {}, bytes: {} }, 64 * 1024 * MIB).deployments.bytes).toBe(64 * MIB);
  });
});
