import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { systemClock } from '../../src/server/clock.ts';
import { Membership } from '../../src/server/cluster/membership.ts';
import { OwnedStore, ShardNotHeldError } from '../../src/server/cluster/owned-store.ts';
import { Shards } from '../../src/server/cluster/shards.ts';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { StoreFormat } from '../../src/server/store/format.ts';
import { globalKey } from '../../src/server/store/keys.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { Store } from '../../src/server/store/store.ts';
import { StoreView } from '../../src/server/store/view.ts';
import { eventually } from '../support/eventually.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';

/** Who decides for a tenant, on a real etcd: the parts of two control planes in one process, so that each step can be held. */

const TENANT = '11111111-1111-4111-8111-111111111111' as TenantId;
const LEASE_MS = 2000;
const format = new StoreFormat('0.1.0');
const RECORD = { nodeName: 'm', startedAt: '', version: '0', url: 'http://x', agentUrl: 'http://x' };

let etcd: Etcd;
const opened: Plane[] = [];

class Plane {
  readonly kv: Kv;
  readonly view: StoreView;
  readonly membership: Membership;
  readonly shards: Shards;
  readonly store: OwnedStore;
  readonly moves: string[] = [];

  constructor(kv: Kv, view: StoreView, id: string) {
    this.kv = kv;
    this.view = view;
    const store = new Store(kv, view);
    const log = (): void => undefined;
    const clock = systemClock;
    const sees = (revision: number): Promise<boolean> => view.reached(revision);
    this.membership = new Membership({
      kv,
      id,
      record: RECORD,
      format,
      leaseMs: LEASE_MS,
      clock,
      sees,
      log,
      onLost: async () => undefined,
      onRefused: log,
    });
    this.shards = new Shards({ store, membership: this.membership, clock, log, say: log });
    this.store = new OwnedStore(store, (tenantId) => this.shards.guard(tenantId));
  }

  static async open(id: string): Promise<Plane> {
    const kv = await openEtcdKv({ endpoints: etcd.endpoints });
    const plane = new Plane(kv, await StoreView.open(kv, { onProblem: () => undefined }), id);
    opened.push(plane);
    await plane.membership.join();
    plane.shards.start({
      adopt: () => plane.moves.push('adopt'),
      abandon: () => plane.moves.push('abandon'),
    });
    return plane;
  }

  async writeQuota(containers: number): Promise<boolean> {
    const tenant = this.store.forTenant(TENANT);
    return (await tenant.commit(tenant.transaction().put('quota', 'quota', { containers }))).ok;
  }

  async close(): Promise<void> {
    this.shards.stop();
    await this.membership.leave();
    this.view.close();
    await this.kv.close();
  }
}

beforeAll(async () => {
  etcd = await startEtcd();
});

afterAll(async () => {
  await Promise.all(opened.map((plane) => plane.close()));
  await etcd.stop();
});

describe('shards on etcd', () => {
  it('are held by one process at a time, and a stale owner can write nothing', async () => {
    const first = await Plane.open('cp_first');
    await eventually(
      'it holds all',
      () => first.shards.count,
      (count) => count === 64,
    );
    expect(await first.writeQuota(1)).toBe(true);
    expect(first.moves).toEqual([]);

    // From here on the first sees nothing of the store any more, and its lease ends: it believes to own for ever.
    first.view.close();
    first.shards.stop();
    const second = await Plane.open('cp_second');
    expect(second.shards.owns(TENANT)).toBe(false);
    await expect(second.writeQuota(2)).rejects.toThrow(ShardNotHeldError);
    await first.membership.leave();
    await eventually(
      'the second holds all',
      () => second.shards.count,
      (count) => count === 64,
    );
    expect(second.moves).toEqual(['adopt']);
    expect(await second.writeQuota(3)).toBe(true);

    expect(first.shards.owns(TENANT)).toBe(true);
    await expect(first.writeQuota(4)).rejects.toThrow(ShardNotHeldError);
    expect(first.store.refused).toBe(1);
    expect(second.store.forTenant(TENANT).get('quota', 'quota')?.record).toEqual({ containers: 3 });
    expect(second.store.refused).toBe(0);
  });

  it('are handed over when a process comes, and all of them come back when it leaves', async () => {
    const [, second] = opened;
    if (second === undefined) throw new Error('the test before did not run');
    await eventually(
      'it holds all',
      () => second.shards.count,
      (count) => count === 64,
    );
    const third = await Plane.open('cp_third');
    await eventually(
      'both have some, together all',
      () => [second.shards.count, third.shards.count] as const,
      ([one, two]) => one > 16 && two > 16 && one + two === 64,
    );
    await third.close();
    opened.pop();
    await eventually(
      'all are back',
      () => second.shards.count,
      (count) => count === 64,
      3000,
    );
  });

  it('are not certain to a process beyond the time at which the store may have ended its lease', async () => {
    const kv = await openEtcdKv({ endpoints: etcd.endpoints });
    const log = (): void => undefined;
    const member = new Membership({
      onLost: async () => undefined,
      onRefused: (error) => expect.fail(error.message),
      kv,
      id: 'cp_cut',
      record: RECORD,
      format,
      leaseMs: LEASE_MS,
      clock: systemClock,
      sees: () => Promise.resolve(true),
      log,
    });
    await member.join();
    await delay(LEASE_MS);
    expect(member.certain).toBe(true);
    // It can renew no more; the record is there for as long as the lease is.
    await kv.close();
    const [, second] = opened;
    const reader = second?.kv;
    const gone = await eventually(
      'the lease ended in the store',
      async () => {
        const stored = await reader?.get(globalKey('control-planes', 'cp_cut'));
        return { stored: stored !== undefined, certain: member.certain };
      },
      ({ stored }) => !stored,
    );
    // The store never ends it while the process still relies on it.
    expect(gone.certain).toBe(false);
    await member.leave();
  });

  it('that come back to a process take nothing of what it decided before they were away', async () => {
    const [, second] = opened;
    if (second === undefined) throw new Error('the test before did not run');
    await eventually(
      'it holds all',
      () => second.shards.count,
      (count) => count === 64,
    );
    // Decided in this epoch, and stored only after another one has begun.
    const decided = second.store.forTenant(TENANT);
    const transaction = decided.transaction().put('quota', 'quota', { containers: 7 });
    const epoch = second.shards.guard(TENANT)?.modRevision ?? 0;
    await second.kv.revokeLease(second.membership.lease ?? '');
    await eventually(
      'it holds the shard again',
      () => second.shards.guard(TENANT)?.modRevision ?? 0,
      (revision) => revision > epoch,
    );
    expect(second.membership.lost).toBe(1);
    await expect(decided.commit(transaction)).rejects.toThrow(ShardNotHeldError);
    expect(await second.writeQuota(8)).toBe(true);
  });

  it('are not certain again before the process has seen what was stored while it was gone', async () => {
    const kv = await openEtcdKv({ endpoints: etcd.endpoints });
    const hold = Promise.withResolvers<boolean>();
    let asked = 0;
    const member = new Membership({
      onLost: async () => undefined,
      onRefused: (error) => expect.fail(error.message),
      kv,
      id: 'cp_late',
      record: RECORD,
      format,
      leaseMs: LEASE_MS,
      clock: systemClock,
      sees: () => (asked++ === 0 ? Promise.resolve(true) : hold.promise),
      log: () => undefined,
    });
    await member.join();
    expect(member.certain).toBe(true);
    await kv.revokeLease(member.lease ?? '');
    await eventually(
      'it has registered anew',
      () => asked,
      (times) => times > 1,
    );
    expect(member.certain).toBe(false);
    hold.resolve(true);
    await eventually(
      'it is certain',
      () => member.certain,
      (certain) => certain,
    );
    // A renewed certificate is told under the same lease.
    await member.describe({ certificate: 'renewed' });
    const stored = await kv.get(globalKey('control-planes', 'cp_late'));
    expect(stored?.value).toContain('renewed');
    await member.leave();
    expect(await kv.get(globalKey('control-planes', 'cp_late'))).toBeUndefined();
    await kv.close();
  });
});
