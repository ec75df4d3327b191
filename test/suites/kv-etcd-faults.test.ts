import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type EtcdOptions, openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { type Kv, KvUnavailableError } from '../../src/server/store/kv.ts';
import {
  type Etcd,
  type EtcdMember,
  type EtcdTestOptions,
  leaderOf,
  startEtcd,
} from '../support/harness/etcd.ts';
import { linesOf, recordWatch, startWriters } from '../support/kv-history.ts';
import { startTcpProxy, type TcpProxy } from '../support/harness/tcp-proxy.ts';

const PATIENT = { timeout: 30_000, interval: 100 };

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function etcdWith(options: EtcdTestOptions = {}): Promise<Etcd> {
  const etcd = await startEtcd(options);
  cleanups.push(() => etcd.stop());
  return etcd;
}

async function open(options: EtcdOptions): Promise<Kv> {
  const kv = await openEtcdKv(options);
  cleanups.push(() => kv.close());
  return kv;
}

async function proxyTo(member: EtcdMember): Promise<TcpProxy> {
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(member.endpoint).port) });
  cleanups.push(() => proxy.close());
  return proxy;
}

function only<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('nothing there');
  return item;
}

const putting = (key: string, value = '') => ({ puts: [{ key, value }] });

async function failureOf(work: Promise<unknown>): Promise<KvUnavailableError> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KvUnavailableError);
  return error as KvUnavailableError;
}

describe('etcd unreachable', () => {
  it('opens without etcd, says so, and works once it is there', async () => {
    const etcd = await etcdWith();
    const member = only(etcd.members);
    await member.kill();
    const kv = await open({ endpoints: etcd.endpoints });
    const status = await kv.status();
    expect(status.connected).toBe(false);
    expect(status.problem).toMatch(/cannot be reached.*ECONNREFUSED/);
    const watched = recordWatch(kv, '', 0);
    const began = performance.now();
    expect((await failureOf(kv.commit(putting('a')))).certainlyNotApplied).toBe(true);
    expect(performance.now() - began).toBeLessThan(2_500);
    await member.restart();
    await vi.waitFor(async () => expect((await kv.status()).problem).toBeUndefined(), PATIENT);
    expect((await kv.commit(putting('a', 'there'))).ok).toBe(true);
    await vi.waitFor(() => expect(linesOf(watched.batches)).toHaveLength(1), PATIENT);

    await member.kill();
    expect((await kv.status()).connected).toBe(false);
    await failureOf(kv.get('a'));
    await failureOf(kv.head());
    await member.restart();
    await vi.waitFor(
      async () => expect(await kv.status()).toEqual({ kind: 'etcd', connected: true }),
      PATIENT,
    );
    expect((await kv.get('a'))?.value).toBe('there');
  });

  it('does not claim to know the fate of a commit whose answer was lost', async () => {
    const etcd = await etcdWith();
    const proxy = await proxyTo(only(etcd.members));
    const kv = await open({ endpoints: [`http://127.0.0.1:${proxy.port}`] });
    const direct = await open({ endpoints: etcd.endpoints });
    await kv.head();

    proxy.holdAnswers(true);
    const timedOut = failureOf(kv.commit(putting('timed-out')));
    expect((await timedOut).certainlyNotApplied).toBe(false);
    const cutOff = failureOf(kv.commit(putting('cut-off')));
    await vi.waitFor(async () => expect(await direct.get('cut-off')).toBeDefined(), PATIENT);
    proxy.cut();
    expect((await cutOff).certainlyNotApplied).toBe(false);
    expect(await direct.get('timed-out')).toBeDefined();

    proxy.holdAnswers(false);
    proxy.refuse(true);
    await sleep(100);
    expect((await failureOf(kv.commit(putting('refused')))).certainlyNotApplied).toBe(true);
    proxy.refuse(false);
    await vi.waitFor(async () => expect((await kv.commit(putting('back'))).ok).toBe(true), PATIENT);
    expect(await direct.get('refused')).toBeUndefined();
  });

  it('gives up at the deadline when the server hangs, and recovers when it goes on', async () => {
    const etcd = await etcdWith();
    const member = only(etcd.members);
    const kv = await open({ endpoints: etcd.endpoints, timeoutMs: 500 });
    await kv.head();
    member.pause();
    const began = performance.now();
    const work = [kv.get('a'), kv.range(''), kv.head(), kv.commit(putting('a')), kv.grantLease(1000)];
    await Promise.all(work.map(failureOf));
    expect(performance.now() - began).toBeLessThan(1_500);
    expect((await kv.status()).problem).toMatch(/did not answer in time/);
    member.resume();
    await vi.waitFor(async () => expect((await kv.status()).problem).toBeUndefined(), PATIENT);
  });
});

describe('etcd with three members', () => {
  it('keeps every acknowledged commit over the loss of two leaders, with a short gap', async () => {
    const etcd = await etcdWith({ members: 3 });
    const kv = await open({ endpoints: etcd.endpoints });
    const start = await kv.head();
    const watched = recordWatch(kv, 'w/', start);
    const writes = startWriters(kv, 'w/', 8, () => 2);
    await vi.waitFor(() => expect(writes.acknowledged.size).toBeGreaterThan(100), PATIENT);

    const killed = await leaderOf(etcd);
    await killed.kill();
    let before = writes.acknowledged.size;
    await vi.waitFor(() => expect(writes.acknowledged.size).toBeGreaterThan(before + 100), PATIENT);
    await killed.restart();

    const paused = await leaderOf(etcd);
    paused.pause();
    before = writes.acknowledged.size;
    await vi.waitFor(() => expect(writes.acknowledged.size).toBeGreaterThan(before + 100), PATIENT);
    paused.resume();

    await writes.stop();
    console.log(
      `leader killed and leader stopped: longest write gap ${writes.longestGapMs().toFixed(0)} ms, ` +
        `${writes.acknowledged.size} acknowledged, ${writes.unknown.size} unknown, ${writes.refused.size} refused`,
    );
    expect(writes.longestGapMs()).toBeLessThan(6_000);
    // A request that waited inside the stopped leader may still be applied after its caller gave up.
    const entries = await vi.waitFor(async () => {
      const found = (await kv.range('w/')).entries;
      expect(linesOf(watched.batches)).toHaveLength(found.length);
      return found;
    }, PATIENT);
    const stored = new Map(entries.map((entry) => [entry.key, entry.modRevision]));
    for (const [key, revision] of writes.acknowledged) expect(stored.get(key)).toBe(revision);
    for (const key of writes.refused) expect(stored.has(key)).toBe(false);
    const revisions = watched.batches.map(({ revision }) => revision);
    expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
    expect(watched.lost).toEqual([]);
  });

  it('moves its watches away from a member that hangs soon after a call to it failed', async () => {
    const etcd = await etcdWith({ members: 3 });
    const kv = await open({ endpoints: etcd.endpoints });
    const watched = recordWatch(kv, '', await kv.head());
    await kv.commit(putting('before'));
    await vi.waitFor(() => expect(watched.batches).toHaveLength(1), PATIENT);
    // The watch and the first call are on the first member of the list.
    etcd.members[0]?.pause();
    const paused = performance.now();
    await vi.waitFor(async () => expect((await kv.commit(putting('after'))).ok).toBe(true), PATIENT);
    await vi.waitFor(() => expect(watched.batches.length).toBeGreaterThanOrEqual(2), PATIENT);
    const tookMs = performance.now() - paused;
    console.log(`commit and its notice ${tookMs.toFixed(0)} ms after the member stopped`);
    expect(tookMs).toBeLessThan(6_500);
    etcd.members[0]?.resume();
    expect(watched.lost).toEqual([]);
  });

  it('passes over a dead member without an error', async () => {
    const etcd = await etcdWith({ members: 3 });
    // Not the leader, whose death has an election to wait for.
    const leader = await leaderOf(etcd);
    const dead = etcd.members.find((member) => member !== leader);
    if (dead === undefined) throw new Error('too few');
    await dead.kill();
    const others = etcd.endpoints.filter((endpoint) => endpoint !== dead.endpoint);
    const kv = await open({ endpoints: [dead.endpoint, ...others] });
    for (let serial = 0; serial < 20; serial += 1) {
      expect((await kv.commit(putting(`k${serial}`))).ok).toBe(true);
    }
    expect((await kv.status()).problem).toBeUndefined();
  });

  it('names a lost quorum, refuses writes in time, and recovers', async () => {
    const etcd = await etcdWith({ members: 3 });
    const kv = await open({ endpoints: etcd.endpoints });
    expect((await kv.commit(putting('a', 'kept'))).ok).toBe(true);
    const [first, second] = etcd.members;
    await first?.kill();
    await second?.kill();
    await vi.waitFor(
      async () => expect((await kv.status()).problem).toMatch(/lost its quorum: 1 of 3/),
      PATIENT,
    );
    const began = performance.now();
    await failureOf(kv.commit(putting('b')));
    expect(performance.now() - began).toBeLessThan(2_500);
    await first?.restart({ wait: false });
    await vi.waitFor(async () => expect((await kv.commit(putting('c'))).ok).toBe(true), PATIENT);
    expect((await kv.get('a'))?.value).toBe('kept');
    await vi.waitFor(async () => expect((await kv.status()).problem).toBeUndefined(), PATIENT);
  });
});

describe('etcd quota', () => {
  it('refuses writes clearly when full, reads on, and makes room without a human', async () => {
    const etcd = await etcdWith({ args: ['--quota-backend-bytes=16777216'] });
    const kv = await open({ endpoints: etcd.endpoints });
    const value = 'x'.repeat(500_000);
    let error: unknown;
    let acknowledged = 0;
    let modRevision = 0;
    for (let round = 0; round < 200 && error === undefined; round += 1) {
      try {
        const guards = [{ key: 'churn', modRevision }];
        const result = await kv.commit({ guards, ...putting('churn', `${round} ${value}`) });
        if (!result.ok) throw new Error('a conflict with itself');
        acknowledged = round;
        modRevision = result.revision;
      } catch (reason) {
        error = reason;
      }
    }
    expect(error).toBeInstanceOf(KvUnavailableError);
    expect(error).toMatchObject({
      certainlyNotApplied: true,
      message: expect.stringMatching(/no space left/),
    });
    const status = await kv.status();
    expect(status.connected).toBe(true);
    expect(status.problem).toMatch(/NOSPACE/);
    expect((await kv.get('churn'))?.value.startsWith(`${acknowledged} `)).toBe(true);
    const full = performance.now();
    await vi.waitFor(async () => expect((await kv.commit(putting('after'))).ok).toBe(true), PATIENT);
    console.log(`writes resumed ${(performance.now() - full).toFixed(0)} ms after the quota was reached`);
    expect((await kv.status()).problem).toBeUndefined();
    expect((await kv.get('churn'))?.value.startsWith(`${acknowledged} `)).toBe(true);
  });

  it('keeps saying so when current values alone fill it, and recovers after a deletion', async () => {
    const etcd = await etcdWith({ args: ['--quota-backend-bytes=8388608'] });
    const kv = await open({ endpoints: etcd.endpoints });
    const value = 'x'.repeat(500_000);
    const keys: string[] = [];
    const fill = async (): Promise<void> => {
      for (;;) {
        const key = `full/${keys.length}`;
        await kv.commit(putting(key, value));
        keys.push(key);
      }
    };
    // Defragmenting wins a little room a few times before the values themselves fill the file.
    await vi.waitFor(async () => {
      expect((await failureOf(fill())).message).toMatch(/no space left/);
      await sleep(1_500);
      expect((await kv.status()).problem).toMatch(/NOSPACE/);
    }, PATIENT);
    // The one that hit the quota may be there, too.
    expect((await kv.commit({ deletes: [...keys.slice(1), `full/${keys.length}`] })).ok).toBe(true);
    await vi.waitFor(async () => expect((await kv.commit(putting('after'))).ok).toBe(true), PATIENT);
    expect((await kv.range('full/')).entries).toHaveLength(1);
  });
});

describe('etcd limits', () => {
  it('throws on a commit that etcd could not take as one transaction', async () => {
    const etcd = await etcdWith();
    const kv = await open({ endpoints: etcd.endpoints });
    const puts = Array.from({ length: 129 }, (_, index) => ({ key: `many/${index}`, value: '' }));
    await expect(kv.commit({ puts })).rejects.toThrow(/129 writes.*limit of 128/);
    await expect(kv.commit(putting('large', 'x'.repeat(1_700_000)))).rejects.toThrow(/too large/);
    await expect(kv.commit(putting('larger', 'x'.repeat(5_000_000)))).rejects.toThrow(
      /larger than max|too large/,
    );
    expect((await kv.range('')).entries).toEqual([]);
    expect((await kv.commit({ puts: puts.slice(1) })).ok).toBe(true);
  });

  it('reads a large range as one snapshot over several pages while it changes', async () => {
    const etcd = await etcdWith();
    const kv = await open({ endpoints: etcd.endpoints });
    for (let block = 0; block < 50; block += 1) {
      const puts = Array.from({ length: 100 }, (_, index) => ({
        key: `page/${String(block * 100 + index).padStart(5, '0')}`,
        value: 'old',
      }));
      await kv.commit({ puts });
    }
    const writes = startWriters(kv, 'page/0', 4, () => 0);
    const result = await kv.range('page/');
    const snapshot = await kv.range('page/', { revision: result.revision });
    await writes.stop();
    expect(result.entries).toEqual(snapshot.entries);
    expect(result.entries.every(({ modRevision }) => modRevision <= result.revision)).toBe(true);
    expect(result.entries.filter(({ value }) => value === 'old')).toHaveLength(5_000);
    const reverse = await kv.range('page/', { revision: result.revision, reverse: true });
    expect(reverse.entries).toEqual(result.entries.toReversed());
  });
});
