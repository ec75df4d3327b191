import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Commit, CommitResult, Kv } from '../../src/server/store/kv.ts';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';

let etcd: Etcd;
let kv: Kv;
beforeAll(async () => {
  etcd = await startEtcd();
  kv = await openEtcdKv({ endpoints: etcd.endpoints, maxTxnOps: 32 });
});
afterAll(async () => {
  await kv.close();
  await etcd.stop();
});

const create = (key: string, value = key): Commit => ({
  guards: [{ key, modRevision: 0 }],
  puts: [{ key, value }],
});

function revisionOf(result: CommitResult | undefined): number {
  if (result?.ok !== true) throw new Error(`not stored: ${JSON.stringify(result)}`);
  return result.revision;
}

describe('commits of one moment', () => {
  it('share transactions, each of as many as fit', async () => {
    const results = await Promise.all(Array.from({ length: 100 }, (_, n) => kv.commit(create(`many/${n}`))));
    const revisions = results.map(revisionOf);
    const shared = new Map<number, number>();
    for (const revision of revisions) shared.set(revision, (shared.get(revision) ?? 0) + 1);
    expect(shared.size).toBeLessThanOrEqual(10);
    expect(Math.max(...shared.values())).toBeLessThanOrEqual(32);
    const { entries } = await kv.range('many/');
    const stored = new Map(entries.map((entry) => [entry.key, entry.modRevision]));
    for (const [n, revision] of revisions.entries()) expect(stored.get(`many/${n}`)).toBe(revision);
  });

  it('are each judged by their own guards: a conflict is told to its own, and the others are stored', async () => {
    revisionOf(await kv.commit(create('judged/3')));
    revisionOf(await kv.commit(create('judged/17')));
    const results = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        kv.commit({
          guards: [
            { key: 'judged/common', modRevision: 0 },
            { key: `judged/${n}`, modRevision: 0 },
          ],
          puts: [
            { key: `judged/${n}`, value: 'second' },
            { key: `judged/${n}/beside`, value: '' },
          ],
        }),
      ),
    );
    for (const [n, result] of results.entries()) {
      if (n === 3 || n === 17) expect(result).toEqual({ ok: false, failed: [`judged/${n}`] });
      else expect((await kv.get(`judged/${n}`))?.modRevision).toBe(revisionOf(result));
      expect((await kv.get(`judged/${n}/beside`)) === undefined).toBe(n === 3 || n === 17);
    }
  });

  it('that write the same key are stored one after the other', async () => {
    const writes = Array.from({ length: 20 }, (_, n) =>
      kv.commit({ puts: [{ key: 'same', value: String(n) }] }),
    );
    const revisions = (await Promise.all(writes)).map(revisionOf);
    expect(new Set(revisions).size).toBe(20);
    const last = revisions.indexOf(Math.max(...revisions));
    expect(await kv.get('same')).toMatchObject({ value: String(last), modRevision: Math.max(...revisions) });
  });

  it('never pass a guard on what another of the moment writes', async () => {
    const moved = revisionOf(await kv.commit(create('gate', 'open')));
    const attempts = Array.from({ length: 10 }, (_, n) =>
      kv.commit({
        guards: [{ key: 'gate', modRevision: moved }],
        puts: [
          { key: 'gate', value: `closed by ${n}` },
          { key: `through/${n}`, value: '' },
        ],
      }),
    );
    const passed = (await Promise.all(attempts)).filter((result) => result.ok);
    expect(passed).toHaveLength(1);
    expect((await kv.range('through/')).entries).toHaveLength(1);
  });

  it('are not harmed by one that etcd refuses', async () => {
    const lease = await kv.grantLease(60_000);
    await kv.revokeLease(lease);
    const tooLarge = 'x'.repeat(1_600_000);
    const outcomes = await Promise.allSettled([
      kv.commit(create('harmed/1')),
      kv.commit({ puts: [{ key: 'harmed/leased', value: '', lease }] }),
      kv.commit(create('harmed/2')),
      kv.commit(create('harmed/large', tooLarge)),
      kv.commit(create('harmed/3')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect((await kv.range('harmed/')).entries.map(({ key }) => key)).toEqual([
      'harmed/1',
      'harmed/2',
      'harmed/3',
    ]);
  });

  it('that etcd takes one by one are stored where it takes less than usual at once', async () => {
    const narrow = await startEtcd({ args: ['--max-request-bytes=65536'] });
    const own = await openEtcdKv({ endpoints: narrow.endpoints });
    try {
      const outcomes = await Promise.allSettled([
        ...Array.from({ length: 8 }, (_, n) => own.commit(create(`narrow/${n}`, 'x'.repeat(20_000)))),
        own.commit(create('narrow/large', 'x'.repeat(70_000))),
      ]);
      expect(outcomes.slice(0, 8).map(({ status }) => status)).toEqual(Array(8).fill('fulfilled'));
      expect(outcomes[8]).toMatchObject({ status: 'rejected', reason: { name: 'KvTooLargeError' } });
      expect((await own.range('narrow/')).entries).toHaveLength(8);
    } finally {
      await own.close();
      await narrow.stop();
    }
  });
});
