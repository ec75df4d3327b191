import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import type { Kv, KvEntry } from '../../src/server/store/kv.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { linesOf, recordWatch, startWriters, type WatchRecord, type Writes } from '../support/kv-history.ts';
import { startTcpProxy } from '../support/harness/tcp-proxy.ts';

const PATIENT = { timeout: 20_000, interval: 50 };

async function openedAt(endpoints: readonly string[], run: (kv: Kv) => Promise<void>): Promise<void> {
  const kv = await openEtcdKv({ endpoints });
  try {
    await run(kv);
  } finally {
    await kv.close();
  }
}

/** What the watch delivered is compared with what etcd itself tells to an undisturbed watch from the same start. */
async function expectTheWholeHistory(
  direct: Kv,
  prefix: string,
  start: number,
  watched: WatchRecord,
  writes: Writes,
): Promise<void> {
  const truth = recordWatch(direct, prefix, start);
  // A commit of unknown fate may be applied a moment after its caller gave up.
  await vi.waitFor(async () => {
    const stored = (await direct.range(prefix)).entries.length;
    expect(linesOf(truth.batches)).toHaveLength(stored);
    expect(linesOf(watched.batches)).toHaveLength(stored);
  }, PATIENT);
  truth.close();
  expect(linesOf(watched.batches)).toEqual(linesOf(truth.batches));
  expect(watched.lost).toEqual([]);
  // Both keys of a commit arrive in one batch, whichever other commits share it.
  for (const { changes } of watched.batches) {
    const keys = new Set(changes.map(({ key }) => key));
    const first = [...keys].filter((key) => !key.endsWith('/second'));
    expect([...keys].toSorted()).toEqual(first.flatMap((key) => [key, `${key}/second`]).toSorted());
  }
  const revisions = new Map(
    watched.batches.flatMap(({ revision, changes }) => changes.map(({ key }) => [key, revision])),
  );
  for (const [key, revision] of writes.acknowledged) expect(revisions.get(key)).toBe(revision);
  for (const key of writes.refused) expect(revisions.has(key)).toBe(false);
}

describe('etcd watch', () => {
  let etcd: Etcd;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  it('loses and repeats nothing when the server is killed under it while many write', async () => {
    await openedAt(etcd.endpoints, async (kv) => {
      const start = await kv.head();
      const watched = recordWatch(kv, 'killed/', start);
      const writes = startWriters(kv, 'killed/', 16, () => 1);
      for (let kill = 0; kill < 3; kill += 1) {
        const before = writes.acknowledged.size;
        await vi.waitFor(() => expect(writes.acknowledged.size).toBeGreaterThan(before + 200), PATIENT);
        await etcd.members[0]?.restart();
      }
      const before = writes.acknowledged.size;
      await vi.waitFor(() => expect(writes.acknowledged.size).toBeGreaterThan(before + 200), PATIENT);
      await writes.stop();
      expect(writes.unknown.size).toBeGreaterThan(0);
      await expectTheWholeHistory(kv, 'killed/', start, watched, writes);
    });
  });

  it('loses and repeats nothing over connections that are cut at random', async () => {
    const proxy = await startTcpProxy({
      host: '127.0.0.1',
      port: Number(new URL(etcd.endpoints[0] ?? '').port),
    });
    await openedAt(etcd.endpoints, async (direct) => {
      await openedAt([`http://127.0.0.1:${proxy.port}`], async (kv) => {
        const start = await direct.head();
        const watched = recordWatch(kv, 'cut/', start);
        const through = startWriters(kv, 'cut/through/', 4, () => 1);
        const writes = startWriters(direct, 'cut/direct/', 8, () => 1);
        for (let cuts = 0; cuts < 40; cuts += 1) {
          await sleep(Math.random() * 120);
          proxy.cut();
        }
        await Promise.all([writes.stop(), through.stop()]);
        expect(proxy.accepted).toBeGreaterThan(10);
        expect(writes.acknowledged.size).toBeGreaterThan(500);
        await expectTheWholeHistory(direct, 'cut/', start, watched, {
          ...writes,
          acknowledged: new Map([...writes.acknowledged, ...through.acknowledged]),
          refused: through.refused,
        });
      });
    });
    await proxy.close();
  });

  it('holds a revision that etcd splits over fragments until it is whole', async () => {
    await openedAt(etcd.endpoints, async (kv) => {
      const start = await kv.head();
      const value = 'x'.repeat(90_000);
      for (let round = 0; round < 8; round += 1) {
        const puts = Array.from({ length: 11 }, (_, index) => ({ key: `large/${round}/${index}`, value }));
        expect((await kv.commit({ puts })).ok).toBe(true);
      }
      const watched = recordWatch(kv, 'large/', start);
      await vi.waitFor(() => expect(watched.batches).toHaveLength(8), PATIENT);
      expect(watched.batches.map(({ changes }) => changes.length)).toEqual(
        Array.from({ length: 8 }, () => 11),
      );
    });
  });

  it('says that history is lost when it was compacted while disconnected, and goes silent', async () => {
    const proxy = await startTcpProxy({
      host: '127.0.0.1',
      port: Number(new URL(etcd.endpoints[0] ?? '').port),
    });
    await openedAt(etcd.endpoints, async (direct) => {
      await openedAt([`http://127.0.0.1:${proxy.port}`], async (kv) => {
        const watched = recordWatch(kv, 'compacted/', await direct.head());
        await direct.commit({ puts: [{ key: 'compacted/a', value: '1' }] });
        await vi.waitFor(() => expect(watched.batches).toHaveLength(1), PATIENT);
        proxy.refuse(true);
        // The deletion is made in exactly the revision that is compacted: etcd forgets it without a word.
        await direct.commit({ deletes: ['compacted/a'] });
        await direct.compact(await direct.head());
        proxy.refuse(false);
        await vi.waitFor(() => expect(watched.lost).toHaveLength(1), PATIENT);
        await direct.commit({ puts: [{ key: 'compacted/b', value: '1' }] });
        const fresh = recordWatch(direct, 'compacted/', (await direct.head()) - 1);
        await vi.waitFor(() => expect(fresh.batches).toHaveLength(1), PATIENT);
        expect(watched.batches).toHaveLength(1);
        expect(watched.lost).toHaveLength(1);
      });
    });
    await proxy.close();
  });

  it('is not lost when only what it has seen was compacted while disconnected', async () => {
    const proxy = await startTcpProxy({
      host: '127.0.0.1',
      port: Number(new URL(etcd.endpoints[0] ?? '').port),
    });
    await openedAt(etcd.endpoints, async (direct) => {
      await openedAt([`http://127.0.0.1:${proxy.port}`], async (kv) => {
        const watched = recordWatch(kv, 'seen/', await direct.head());
        await direct.commit({ puts: [{ key: 'seen/a', value: '1' }] });
        await vi.waitFor(() => expect(watched.batches).toHaveLength(1), PATIENT);
        proxy.refuse(true);
        await direct.compact(await direct.head());
        await direct.commit({ puts: [{ key: 'seen/a', value: '2' }] });
        proxy.refuse(false);
        await vi.waitFor(() => expect(watched.batches).toHaveLength(2), PATIENT);
        expect(watched.lost).toEqual([]);
      });
    });
    await proxy.close();
  });

  it('says that it cannot tell when the store comes back without its data', async () => {
    const wiped = await startEtcd();
    await openedAt(wiped.endpoints, async (kv) => {
      for (let round = 0; round < 5; round += 1)
        await kv.commit({ puts: [{ key: 'wiped/a', value: `${round}` }] });
      const watched = recordWatch(kv, 'wiped/', 1);
      await vi.waitFor(() => expect(watched.batches).toHaveLength(5), PATIENT);
      await wiped.members[0]?.restart({ wipe: true });
      await vi.waitFor(
        () => expect(watched.lost).toEqual([expect.stringMatching(/no longer exists/)]),
        PATIENT,
      );
      expect(watched.batches).toHaveLength(5);
    });
    await wiped.stop();
  });

  it('reaches the head although the newest revisions touch other prefixes or other users of the cluster', async () => {
    await openedAt(etcd.endpoints, async (kv) => {
      const foreign = await openEtcdKv({ endpoints: etcd.endpoints, prefix: '/someone-else/' });
      let reached = 0;
      const batches: number[] = [];
      const watch = kv.watch('narrow/', await kv.head(), {
        onBatch: ({ revision }) => {
          batches.push(revision);
          reached = revision;
        },
        onProgress: (revision: number) => {
          reached = revision;
        },
        onLost: (reason) => expect.unreachable(reason),
      });
      await kv.commit({ puts: [{ key: 'wide/a', value: '' }] });
      const ours = await kv.head();
      await vi.waitFor(() => expect(reached).toBeGreaterThanOrEqual(ours), PATIENT);
      await foreign.commit({ puts: [{ key: 'a', value: '' }] });
      const theirs = await kv.head();
      await vi.waitFor(() => expect(reached).toBeGreaterThanOrEqual(theirs), PATIENT);
      await kv.commit({ puts: [{ key: 'narrow/a', value: '' }] });
      await vi.waitFor(() => expect(batches).toHaveLength(1), PATIENT);
      expect((await kv.range('')).entries.some(({ key }) => key === '')).toBe(false);
      watch.close();
      await foreign.close();
    });
  });

  it('sends a change once to all that a process watches, and each goes on when the first of them ends', async () => {
    const streams = async (): Promise<number> => {
      const text = (await etcd.members[0]?.metrics()) ?? '';
      return Number(/^etcd_debugging_mvcc_watch_stream_total (\S+)$/m.exec(text)?.[1]);
    };
    await openedAt(etcd.endpoints, async (kv) => {
      const before = await streams();
      const start = await kv.head();
      const whole: number[] = [];
      const leader = kv.watch('', start, {
        onBatch: ({ revision }) => whole.push(revision),
        onProgress: () => undefined,
        onLost: (reason) => expect.unreachable(reason),
      });
      const narrow = recordWatch(kv, 'shared/a/', start);
      const failing = vi.fn(() => {
        throw new Error('of this one alone');
      });
      const failed = vi.fn();
      kv.watch('shared/b/', start, { onBatch: failing, onLost: failed });
      const write = (key: string): Promise<unknown> => kv.commit({ puts: [{ key, value: key }] });
      await write('shared/a/1');
      await write('shared/b/1');
      await write('shared/a/2');
      await vi.waitFor(() => expect(narrow.batches).toHaveLength(2), PATIENT);
      expect(whole).toHaveLength(3);
      expect(failing).toHaveBeenCalledTimes(1);
      expect(failed).toHaveBeenCalledTimes(1);
      expect(await streams()).toBe(before + 1);
      // It knows nothing of the past: that is asked for.
      const late = recordWatch(kv, 'shared/a/', start);
      await vi.waitFor(() => expect(late.batches).toHaveLength(2), PATIENT);
      leader.close();
      await write('shared/a/3');
      for (const watched of [narrow, late]) {
        await vi.waitFor(() => expect(watched.batches).toHaveLength(3), PATIENT);
        expect(linesOf(watched.batches).map((line) => line.split(' ')[1])).toEqual([
          'shared/a/1',
          'shared/a/2',
          'shared/a/3',
        ]);
        expect(watched.lost).toEqual([]);
      }
    });
  });

  it('hands back the records that were sent from here, and those of nobody else', async () => {
    await openedAt(etcd.endpoints, async (other) => {
      await openedAt(etcd.endpoints, async (kv) => {
        const entries: (KvEntry | undefined)[] = [];
        kv.watch('sent/', await kv.head(), {
          onBatch: ({ changes }) => entries.push(...changes.map(({ entry }) => entry)),
          onProgress: () => undefined,
          onLost: (reason) => expect.unreachable(reason),
        });
        const record = { n: 1 };
        const put = { key: 'sent/a', value: '{"n":1}', record };
        await kv.commit({ puts: [put] });
        await vi.waitFor(() => expect(entries).toHaveLength(1), PATIENT);
        await other.commit({ puts: [{ key: 'sent/a', value: '{"n":2}' }] });
        const refused = await kv.commit({ guards: [{ key: 'sent/a', modRevision: 0 }], puts: [put] });
        expect(refused.ok).toBe(false);
        await other.commit({ puts: [put] });
        await vi.waitFor(() => expect(entries).toHaveLength(3), PATIENT);
        expect(entries[0]?.record).toBe(record);
        expect(entries.map((entry) => entry?.value)).toEqual(['{"n":1}', '{"n":2}', '{"n":1}']);
        expect(entries.slice(1).map((entry) => entry?.record)).toEqual([undefined, undefined]);
      });
    });
  });
});
