import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Kv,
  type KvChangeBatch,
  KvCompactedError,
  type KvEntry,
  KvUnavailableError,
} from '../../src/server/store/kv.ts';
import { entriesOf } from '../support/loaded-entries.ts';

export interface OpenedKv {
  readonly kv: Kv;
  /** Closes `kv` and opens the same data again; absent when nothing outlives the store (memory). */
  reopen?(): Promise<Kv>;
  dispose(): Promise<void>;
}

/**
 * The contract of the key-value port, declared as tests for one adapter. The store may be shared by the tests: every
 * test keeps to a prefix of its own and makes no assumption on where revisions start.
 */
export function kvContract(name: string, open: () => Promise<OpenedKv>): void {
  describe(`kv contract: ${name}`, () => {
    let opened: OpenedKv;
    let kv: Kv;
    let root: string;

    beforeEach(async () => {
      opened = await open();
      kv = opened.kv;
      root = `contract/${randomUUID()}/`;
    });
    afterEach(() => opened.dispose());

    const put = async (key: string, value = `value of ${key}`): Promise<number> =>
      revisionOf(await kv.commit({ puts: [{ key: root + key, value }] }));
    const remove = async (...keys: string[]): Promise<number> =>
      revisionOf(await kv.commit({ deletes: keys.map((key) => root + key) }));
    const keysOf = (entries: readonly KvEntry[]): string[] =>
      entries.map((entry) => entry.key.slice(root.length));
    const keys = async (prefix = '', options = {}): Promise<string[]> =>
      keysOf((await kv.range(root + prefix, options)).entries);

    const watch = (prefix: string, after: number) => {
      const batches: KvChangeBatch[] = [];
      const lost: string[] = [];
      const handle = kv.watch(root + prefix, after, {
        onBatch: (batch) => batches.push(batch),
        onLost: (reason) => lost.push(reason),
      });
      return { batches, lost, close: () => handle.close() };
    };

    describe('reading', () => {
      it('loads everything under a prefix as one snapshot, in pages of whatever order', async () => {
        if (kv.load === undefined) return;
        const names = ['a/x', 'b/c/x', 'b/x', 'z'].flatMap((folder) =>
          Array.from({ length: 70 }, (_, at) => `${folder}-${at}`),
        );
        // Three of ten, with others between them, and a few that are large.
        for (let from = 0; from < names.length; from += 10)
          await kv.commit({
            puts: names.slice(from, from + 10).map((name, at) => ({
              key: root + (at < 3 ? `in/${name}` : `out/${name}`),
              value: `${name} ${'v'.repeat(at === 2 ? 40_000 : 10)}`,
            })),
          });
        const { entries, revision } = await kv.range(`${root}in/`);
        const loaded: KvEntry[] = [];
        const revisions = new Set<number>();
        for await (const page of kv.load(`${root}in/`)) {
          // What is written meanwhile is not in it.
          if (revisions.size === 0) await put('in/later');
          loaded.push(...entriesOf(page));
          revisions.add(page.revision);
        }
        const byKey = (list: readonly KvEntry[]) => list.toSorted((a, b) => (a.key < b.key ? -1 : 1));
        expect(byKey(loaded)).toEqual(byKey(entries));
        expect([...revisions]).toEqual([revision]);
        const none: KvEntry[] = [];
        for await (const page of kv.load(`${root}none/`)) none.push(...entriesOf(page));
        expect(none).toEqual([]);
      });

      it('gets what was put, byte for byte', async () => {
        const value = 'line\nnul \0 quote " astral 😀 combining e\u0301';
        const revision = await put('a', value);
        expect(await kv.get(`${root}a`)).toEqual({
          key: `${root}a`,
          value,
          createRevision: revision,
          modRevision: revision,
        });
        expect(await kv.get(`${root}A`)).toBeUndefined();
        expect(await kv.get(root)).toBeUndefined();
      });

      it('keeps an empty value apart from an absent key', async () => {
        await put('empty', '');
        expect((await kv.get(`${root}empty`))?.value).toBe('');
      });

      it('keeps values of 1 MiB', async () => {
        const value = 'x'.repeat(1024 * 1024);
        await put('big', value);
        expect((await kv.get(`${root}big`))?.value === value).toBe(true);
        expect((await kv.range(root)).entries[0]?.value === value).toBe(true);
      });

      it('ends a prefix exactly', async () => {
        for (const key of ['a', 'a/', 'a/1', 'a/2', 'a/\u{10ffff}', 'a0', 'b', 'a/\uffff']) await put(key);
        expect(await keys('a/')).toEqual(['a/', 'a/1', 'a/2', 'a/\uffff', 'a/\u{10ffff}']);
        expect(await keys('a/\u{10ffff}')).toEqual(['a/\u{10ffff}']);
        expect(await keys('c')).toEqual([]);
        expect((await kv.range('')).entries.length).toBeGreaterThanOrEqual(8);
      });

      it('orders keys by their UTF-8 bytes', async () => {
        const wanted = ['', '\0', 'A', 'Z', 'a', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10ffff}'].map(
          (end) => `k${end}`,
        );
        expect(wanted.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))).toEqual(wanted);
        for (const key of wanted.toReversed()) await put(key);
        expect(await keys()).toEqual(wanted);
        expect(await keys('', { reverse: true })).toEqual(wanted.toReversed());
        expect(await keys('', { after: `${root}k\uffff` })).toEqual(['k😀', 'k\u{10ffff}']);
      });

      it('ends a little after so many bytes and says whether there are more', async () => {
        for (const key of ['p/1', 'p/2', 'p/3', 'p/4']) await put(key, 'x'.repeat(100));
        const seen: string[] = [];
        let after: string | undefined;
        for (let page = 0; page < 10; page += 1) {
          const { entries, more } = await kv.range(`${root}p/`, {
            bytes: 150,
            ...(after === undefined ? {} : { after }),
          });
          seen.push(...keysOf(entries));
          if (more !== true) break;
          after = entries.at(-1)?.key;
        }
        expect(seen).toEqual(['p/1', 'p/2', 'p/3', 'p/4']);
      });

      it('reads every key once, however folders and pages lie', async () => {
        const many = (folder: string, count: number): readonly string[] =>
          Array.from({ length: count }, (_, at) => `${folder}/${String(at).padStart(3, '0')}`);
        // Those beside a folder sort right after it.
        const wanted = [
          'a',
          'a/x',
          'a/x0',
          'a/x/',
          'a0',
          'b/é/1/2',
          ...many('a/x', 150),
          ...many('a/y/z', 90),
        ]
          .concat(many('b', 3), many('c/d/e/f', 90))
          .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        for (let from = 0; from < wanted.length; from += 100) {
          const puts = wanted
            .slice(from, from + 100)
            .map((key) => ({ key: `${root}${key}`, value: 'x'.repeat(20) }));
          await kv.commit({ puts });
        }
        expect(await keys()).toEqual(wanted);
        for (const bytes of [1, 700, 1_500, 2_000, 3_100, 100_000]) {
          const seen: string[] = [];
          for (let after: string | undefined, more: boolean | undefined = true; more === true; ) {
            const page = await kv.range(root, { bytes, ...(after !== undefined && { after }) });
            seen.push(...keysOf(page.entries));
            after = page.entries.at(-1)?.key ?? after;
            more = page.more;
          }
          expect(seen, String(bytes)).toEqual(wanted);
        }
      });

      it('counts entries and bytes under a prefix', async () => {
        await put('p/1', 'x'.repeat(100));
        await put('p/2', 'ä');
        await put('q/1');
        expect(await kv.size(`${root}p/`)).toEqual({ records: 2, bytes: 102 });
        await remove('p/1');
        expect(await kv.size(`${root}p/`)).toEqual({ records: 1, bytes: 2 });
        expect(await kv.size(`${root}none/`)).toEqual({ records: 0, bytes: 0 });
      });

      it('limits, continues after a key and reverses', async () => {
        for (const key of ['p/1', 'p/2', 'p/3', 'p/4', 'q']) await put(key);
        expect(await keys('p/', { limit: 2 })).toEqual(['p/1', 'p/2']);
        expect(await keys('p/', { after: `${root}p/2` })).toEqual(['p/3', 'p/4']);
        expect(await keys('p/', { after: `${root}p/2x`, limit: 1 })).toEqual(['p/3']);
        expect(await keys('p/', { after: `${root}p/4` })).toEqual([]);
        expect(await keys('p/', { after: `${root}a` })).toEqual(['p/1', 'p/2', 'p/3', 'p/4']);
        expect(await keys('p/', { reverse: true, limit: 2 })).toEqual(['p/4', 'p/3']);
        expect(await keys('p/', { reverse: true, after: `${root}p/3` })).toEqual(['p/2', 'p/1']);
        expect(await keys('p/', { reverse: true, after: `${root}z` })).toEqual(['p/4', 'p/3', 'p/2', 'p/1']);
        expect(await keys('p/', { reverse: true, after: `${root}p/1` })).toEqual([]);
      });

      it('pages through one snapshot while keys change', async () => {
        for (let i = 0; i < 10; i++) await put(`k${i}`, 'old');
        const first = await kv.range(root, { limit: 4 });
        await put('k5', 'new');
        await put('k55', 'new');
        await remove('k7');
        const seen = [...first.entries];
        for (let page = first.entries; page.length === 4; ) {
          const after = seen.at(-1)?.key ?? '';
          page = (await kv.range(root, { limit: 4, after, revision: first.revision })).entries;
          seen.push(...page);
        }
        expect(keysOf(seen)).toEqual(Array.from({ length: 10 }, (_, i) => `k${i}`));
        expect(new Set(seen.map((entry) => entry.value))).toEqual(new Set(['old']));
      });
    });

    describe('revisions', () => {
      it('gives every commit a greater revision and reports the newest', async () => {
        const before = await kv.head();
        const first = await put('a');
        const second = await put('a');
        expect(first).toBeGreaterThan(before);
        expect(second).toBeGreaterThan(first);
        expect(await kv.head()).toBeGreaterThanOrEqual(second);
        expect((await kv.range(root)).revision).toBeGreaterThanOrEqual(second);
      });

      it('never lets head fall behind an acknowledged commit', async () => {
        let newest = 0;
        const writer = async (id: number): Promise<void> => {
          for (let i = 0; i < 10; i++) {
            const revision = await put(`w${id}`);
            newest = Math.max(newest, revision);
            const floor = newest;
            expect(await kv.head()).toBeGreaterThanOrEqual(floor);
          }
        };
        await Promise.all(Array.from({ length: 8 }, (_, id) => writer(id)));
      });

      it('keeps the create revision over writes and renews it after a deletion', async () => {
        const created = await put('a', '1');
        const changed = await put('a', '2');
        expect(await kv.get(`${root}a`)).toMatchObject({
          createRevision: created,
          modRevision: changed,
          value: '2',
        });
        await remove('a');
        expect(await kv.get(`${root}a`)).toBeUndefined();
        const again = await put('a', '3');
        expect(await kv.get(`${root}a`)).toMatchObject({
          createRevision: again,
          modRevision: again,
          value: '3',
        });
      });

      it('reads the state at past revisions, deleted keys included', async () => {
        const one = await put('a', 'a1');
        const two = await put('b', 'b1');
        const three = await put('a', 'a2');
        const four = await remove('b');
        const five = await put('b', 'b2');
        const at = async (revision: number) => {
          const result = await kv.range(root, { revision });
          expect(result.revision).toBe(revision);
          return result.entries.map((e) => [
            e.key.slice(root.length),
            e.value,
            e.createRevision,
            e.modRevision,
          ]);
        };
        expect(await at(one - 1)).toEqual([]);
        expect(await at(one)).toEqual([['a', 'a1', one, one]]);
        expect(await at(two)).toEqual([
          ['a', 'a1', one, one],
          ['b', 'b1', two, two],
        ]);
        expect(await at(three)).toEqual([
          ['a', 'a2', one, three],
          ['b', 'b1', two, two],
        ]);
        expect(await at(four)).toEqual([['a', 'a2', one, three]]);
        expect(await at(five)).toEqual([
          ['a', 'a2', one, three],
          ['b', 'b2', five, five],
        ]);
        expect(await keys('', { revision: two, reverse: true, limit: 1 })).toEqual(['b']);
        expect(await keys('', { revision: two, after: `${root}a` })).toEqual(['b']);
      });

      it('refuses reads below the compaction floor and keeps the newest values', async () => {
        const one = await put('a', '1');
        await put('gone');
        await remove('gone');
        const floor = await put('a', '2');
        const newest = await put('a', '3');
        await kv.compact(floor);
        await expect(kv.range(root, { revision: one })).rejects.toBeInstanceOf(KvCompactedError);
        expect((await kv.range(root, { revision: floor })).entries.map((e) => e.value)).toEqual(['2']);
        expect((await kv.range(root, { revision: newest })).entries.map((e) => e.value)).toEqual(['3']);
        expect(await kv.get(`${root}a`)).toMatchObject({ value: '3', createRevision: one });
        expect(await keys()).toEqual(['a']);
      });

      it('compacts twice to the same revision without complaint', async () => {
        const revision = await put('a');
        await kv.compact(revision);
        await kv.compact(revision);
        await kv.compact(revision - 1);
        expect(await keys()).toEqual(['a']);
      });
    });

    describe('guards', () => {
      it('names every key that had moved and applies nothing', async () => {
        const a = await put('a', '1');
        const b = await put('b', '1');
        await put('b', '2');
        const result = await kv.commit({
          guards: [
            { key: `${root}a`, modRevision: a },
            { key: `${root}b`, modRevision: b },
            { key: `${root}c`, modRevision: a },
            { key: `${root}d`, modRevision: 0 },
          ],
          puts: [
            { key: `${root}a`, value: 'wrong' },
            { key: `${root}d`, value: 'wrong' },
          ],
          deletes: [`${root}b`],
        });
        expect(result).toEqual({ ok: false, failed: [`${root}b`, `${root}c`] });
        const { entries } = await kv.range(root);
        expect(entries.map((e) => e.value)).toEqual(['1', '2']);
      });

      it('takes 0 for a key that must not exist', async () => {
        const create = {
          guards: [{ key: `${root}a`, modRevision: 0 }],
          puts: [{ key: `${root}a`, value: 'x' }],
        };
        expect((await kv.commit(create)).ok).toBe(true);
        expect(await kv.commit(create)).toEqual({ ok: false, failed: [`${root}a`] });
        await remove('a');
        expect((await kv.commit(create)).ok).toBe(true);
      });

      it('lets a guard stand on a key that the commit does not write', async () => {
        const lock = await put('lock');
        const guarded = {
          guards: [{ key: `${root}lock`, modRevision: lock }],
          puts: [{ key: `${root}x`, value: '1' }],
        };
        expect((await kv.commit(guarded)).ok).toBe(true);
        await put('lock');
        expect(await kv.commit(guarded)).toEqual({ ok: false, failed: [`${root}lock`] });
      });

      // Each of them is in the way of all others: twice as many are four times the work.
      it('loses none of 32 concurrent guarded increments', async () => {
        const key = `${root}counter`;
        const increment = async (): Promise<void> => {
          for (;;) {
            const seen = await kv.get(key);
            const result = await kv.commit({
              guards: [{ key, modRevision: seen?.modRevision ?? 0 }],
              puts: [{ key, value: String(Number(seen?.value ?? 0) + 1) }],
            });
            if (result.ok) return;
          }
        };
        await Promise.all(Array.from({ length: 32 }, increment));
        expect((await kv.get(key))?.value).toBe('32');
      });

      it('accepts exactly one of many concurrent creates', async () => {
        const results = await Promise.all(
          Array.from({ length: 32 }, (_, i) =>
            kv.commit({
              guards: [{ key: `${root}one`, modRevision: 0 }],
              puts: [{ key: `${root}one`, value: `${i}` }],
            }),
          ),
        );
        const winners = results.flatMap((result, i) => (result.ok ? [`${i}`] : []));
        expect(winners).toHaveLength(1);
        expect((await kv.get(`${root}one`))?.value).toBe(winners[0]);
      });
    });

    describe('commits', () => {
      it('writes many keys under one revision, all or nothing', async () => {
        await put('old');
        const revision = revisionOf(
          await kv.commit({
            puts: Array.from({ length: 50 }, (_, i) => ({ key: `${root}n${i}`, value: `${i}` })),
            deletes: [`${root}old`],
          }),
        );
        const { entries } = await kv.range(root);
        expect(entries).toHaveLength(50);
        expect(new Set(entries.map((e) => e.modRevision))).toEqual(new Set([revision]));
        expect((await kv.range(root, { revision: revision - 1 })).entries).toHaveLength(1);
      });

      it('accepts the deletion of an absent key', async () => {
        expect((await kv.commit({ deletes: [`${root}never`] })).ok).toBe(true);
        await put('a');
        expect((await kv.commit({ deletes: [`${root}never`, `${root}a`] })).ok).toBe(true);
        expect(await keys()).toEqual([]);
      });

      it('throws on a commit that no store could keep as sent, and writes nothing', async () => {
        const twice = [
          { key: `${root}a`, value: '1' },
          { key: `${root}a`, value: '2' },
        ];
        await expect(kv.commit({ puts: twice })).rejects.toThrow();
        await expect(
          kv.commit({ puts: [{ key: `${root}a`, value: '1' }], deletes: [`${root}a`] }),
        ).rejects.toThrow();
        await expect(kv.commit({ puts: [{ key: `${root}\ud800`, value: '1' }] })).rejects.toThrow();
        await expect(kv.commit({ puts: [{ key: `${root}a`, value: '\udc00' }] })).rejects.toThrow();
        expect(await keys()).toEqual([]);
      });
    });

    describe('watching', () => {
      it('delivers the past and then what follows, whole revisions in order', async () => {
        const start = await kv.head();
        const one = await put('a', '1');
        const two = revisionOf(
          await kv.commit({
            puts: [
              { key: `${root}a`, value: '2' },
              { key: `${root}b`, value: '2' },
            ],
          }),
        );
        const watched = watch('', start);
        const three = await remove('a');
        const four = await put('a', '4');
        await vi.waitFor(() => expect(watched.batches).toHaveLength(4), 10_000);
        expect(watched.batches.map((batch) => batch.revision)).toEqual([one, two, three, four]);
        expect(watched.batches[1]?.changes.map((change) => change.entry)).toEqual([
          { key: `${root}a`, value: '2', createRevision: one, modRevision: two },
          { key: `${root}b`, value: '2', createRevision: two, modRevision: two },
        ]);
        expect(watched.batches[2]?.changes).toEqual([{ key: `${root}a`, revision: three }]);
        expect(watched.batches[3]?.changes[0]?.entry).toMatchObject({ createRevision: four, value: '4' });
      });

      it('starts after the given revision, exclusive', async () => {
        const one = await put('a');
        const two = await put('b');
        const watched = watch('', one);
        await vi.waitFor(() => expect(watched.batches).toHaveLength(1), 10_000);
        expect(watched.batches[0]?.revision).toBe(two);
      });

      it('keeps to its prefix, inside a batch too', async () => {
        const start = await kv.head();
        await put('seen/past');
        await put('unseen/past');
        const watched = watch('seen/', start);
        await put('unseen/live');
        await kv.commit({
          puts: [
            { key: `${root}seen/live`, value: '' },
            { key: `${root}seen0`, value: '' },
          ],
        });
        await vi.waitFor(() => expect(watched.batches).toHaveLength(2), 10_000);
        const changed = watched.batches.flatMap((batch) =>
          batch.changes.map((change) => change.key.slice(root.length)),
        );
        expect(changed).toEqual(['seen/past', 'seen/live']);
      });

      it('delivers nothing for a commit that failed its guards or changed nothing', async () => {
        const start = await kv.head();
        const watched = watch('', start);
        await kv.commit({
          guards: [{ key: `${root}a`, modRevision: 7 }],
          puts: [{ key: `${root}a`, value: '' }],
        });
        await kv.commit({ deletes: [`${root}never`] });
        const revision = await put('a');
        await vi.waitFor(() => expect(watched.batches).toHaveLength(1), 10_000);
        expect(watched.batches[0]?.revision).toBe(revision);
      });

      it('misses nothing that is written while it catches up', async () => {
        const start = await kv.head();
        const written: number[] = [];
        for (let i = 0; i < 300; i++) written.push(await put(`k${i % 7}`));
        const watched = watch('', start);
        await Promise.all(Array.from({ length: 300 }, async (_, i) => written.push(await put(`k${i % 5}`))));
        // Commits of one moment may share a revision, and with it a batch.
        const changes = () => watched.batches.flatMap((batch) => batch.changes);
        await vi.waitFor(() => expect(changes()).toHaveLength(600), 20_000);
        expect(changes().map((change) => change.revision)).toEqual(written.toSorted((a, b) => a - b));
        const revisions = watched.batches.map((batch) => batch.revision);
        expect(revisions).toEqual([...new Set(written)].toSorted((a, b) => a - b));
        expect(watched.lost).toEqual([]);
      });

      it('follows a list without a gap', async () => {
        const model = new Map<string, string>();
        const churn = async (): Promise<void> => {
          for (let i = 0; i < 200; i++)
            await (i % 3 === 2 ? remove(`k${i % 10}`) : put(`k${i % 10}`, `${i}`));
        };
        const begun = await put('k0');
        const churned = churn();
        await vi.waitFor(async () => expect(await kv.head()).toBeGreaterThan(begun + 20), {
          timeout: 10_000,
          interval: 1,
        });
        const { entries, revision } = await kv.range(root);
        for (const entry of entries) model.set(entry.key, entry.value);
        const handle = kv.watch(root, revision, {
          onBatch: ({ changes }) => {
            for (const { key, entry } of changes) {
              if (entry === undefined) model.delete(key);
              else model.set(key, entry.value);
            }
          },
          onLost: (reason) => expect.unreachable(reason),
        });
        await churned;
        const final = new Map((await kv.range(root)).entries.map((entry) => [entry.key, entry.value]));
        await vi.waitFor(() => expect(model).toEqual(final), 10_000);
        handle.close();
      });

      it('is silent after close', async () => {
        const watched = watch('', await kv.head());
        const witness = watch('', await kv.head());
        await put('a');
        await vi.waitFor(() => expect(watched.batches).toHaveLength(1), 10_000);
        watched.close();
        await put('b');
        await vi.waitFor(() => expect(witness.batches).toHaveLength(2), 10_000);
        expect(watched.batches).toHaveLength(1);
        expect(watched.lost).toEqual([]);
      });

      it('can be closed from within its own handler', async () => {
        const start = await kv.head();
        for (let i = 0; i < 3; i++) await put(`k${i}`);
        const seen: number[] = [];
        const handle = kv.watch(root, start, {
          onBatch: (batch) => {
            seen.push(batch.revision);
            handle.close();
          },
          onLost: (reason) => expect.unreachable(reason),
        });
        const witness = watch('', start);
        await vi.waitFor(() => expect(witness.batches).toHaveLength(3), 10_000);
        await put('more');
        await vi.waitFor(() => expect(witness.batches).toHaveLength(4), 10_000);
        expect(seen).toHaveLength(1);
      });

      it('says that history is lost after compaction, and delivers nothing more', async () => {
        const start = await kv.head();
        for (let i = 0; i < 5; i++) await put('a', `${i}`);
        await kv.compact(await kv.head());
        const watched = watch('', start);
        await vi.waitFor(() => expect(watched.lost).toHaveLength(1), 10_000);
        const fresh = watch('', await kv.head());
        await put('a', 'after');
        await vi.waitFor(() => expect(fresh.batches).toHaveLength(1), 10_000);
        expect(watched.batches).toEqual([]);
        expect(watched.lost).toHaveLength(1);
      });

      it('goes on over a compaction when it has seen everything', async () => {
        const watched = watch('', await kv.head());
        await put('a', '1');
        await vi.waitFor(() => expect(watched.batches).toHaveLength(1), 10_000);
        await kv.compact(await kv.head());
        await put('a', '2');
        await vi.waitFor(() => expect(watched.batches).toHaveLength(2), 10_000);
        expect(watched.lost).toEqual([]);
      });

      it('never shows a change that a read does not show yet', async () => {
        const checks: Promise<void>[] = [];
        const handle = kv.watch(root, await kv.head(), {
          onBatch: ({ changes }) => {
            for (const change of changes) {
              checks.push(
                kv
                  .get(change.key)
                  .then((now) => expect(now?.modRevision).toBeGreaterThanOrEqual(change.revision)),
              );
            }
          },
          onLost: (reason) => expect.unreachable(reason),
        });
        await Promise.all(Array.from({ length: 50 }, (_, i) => put(`k${i % 3}`)));
        await vi.waitFor(() => expect(checks).toHaveLength(50), 10_000);
        await Promise.all(checks);
        handle.close();
      });
    });

    describe('leases', () => {
      it('deletes its keys when it ends, and only those', async () => {
        const watched = watch('', await kv.head());
        const lease = await kv.grantLease(2000);
        await kv.commit({
          puts: [
            { key: `${root}held/1`, value: '', lease },
            { key: `${root}held/2`, value: '', lease },
            { key: `${root}free`, value: '' },
          ],
        });
        await vi.waitFor(async () => expect(await keys()).toEqual(['free']), {
          timeout: 15_000,
          interval: 50,
        });
        await vi.waitFor(() => expect(watched.batches).toHaveLength(2), 10_000);
        expect(watched.batches[1]?.changes.map((c) => [c.key.slice(root.length), c.entry])).toEqual([
          ['held/1', undefined],
          ['held/2', undefined],
        ]);
        expect(await kv.keepAlive(lease)).toBe(false);
      });

      it('lives while it is kept alive', async () => {
        const lease = await kv.grantLease(2000);
        await kv.commit({ puts: [{ key: `${root}held`, value: '', lease }] });
        const end = performance.now() + 5000;
        while (performance.now() < end) {
          expect(await kv.keepAlive(lease)).toBe(true);
          expect(await keys()).toEqual(['held']);
          await new Promise((resolve) => setTimeout(resolve, 250));
        }
        await vi.waitFor(async () => expect(await keys()).toEqual([]), { timeout: 15_000, interval: 50 });
      }, 40_000);

      it('deletes its keys at once when revoked', async () => {
        const lease = await kv.grantLease(60_000);
        await kv.commit({ puts: [{ key: `${root}held`, value: '', lease }] });
        await kv.revokeLease(lease);
        expect(await keys()).toEqual([]);
        expect(await kv.keepAlive(lease)).toBe(false);
        await kv.revokeLease(lease);
      });

      it('lets go of a key that is written without it or deleted', async () => {
        const lease = await kv.grantLease(60_000);
        const held = ['kept', 'remade'].map((key) => ({ key: root + key, value: '', lease }));
        await kv.commit({ puts: held });
        await put('kept', 'mine');
        await remove('remade');
        await put('remade', 'mine');
        await kv.revokeLease(lease);
        expect(await keys()).toEqual(['kept', 'remade']);
      });

      it('refuses a write under a lease that is gone', async () => {
        const lease = await kv.grantLease(60_000);
        await kv.revokeLease(lease);
        await expect(kv.commit({ puts: [{ key: `${root}held`, value: '', lease }] })).rejects.toThrow();
        expect(await keys()).toEqual([]);
      });
    });

    describe('opening and closing', () => {
      it('is connected, without a problem', async () => {
        const status = await kv.status();
        expect(status.connected).toBe(true);
        expect(status.problem).toBeUndefined();
      });

      it('finds everything again after a restart', async () => {
        const one = await put('a', '1');
        await put('b');
        const two = await put('a', '2');
        await remove('b');
        const lease = await kv.grantLease(2000);
        await kv.commit({ puts: [{ key: `${root}held`, value: '', lease }] });
        const head = await kv.head();
        kv = (await opened.reopen?.()) ?? kv;
        expect(await kv.head()).toBeGreaterThanOrEqual(head);
        expect(await kv.get(`${root}a`)).toMatchObject({ value: '2', createRevision: one, modRevision: two });
        expect(await keys('', { revision: two })).toEqual(['a', 'b']);
        const watched = watch('', one);
        const next = await put('c');
        expect(next).toBeGreaterThan(head);
        await vi.waitFor(() => expect(watched.batches.length).toBeGreaterThanOrEqual(5), 10_000);
        await vi.waitFor(async () => expect(await keys()).toEqual(['a', 'c']), {
          timeout: 15_000,
          interval: 50,
        });
      });

      it('refuses work after close', async () => {
        await kv.close();
        await expect(kv.commit({ puts: [{ key: `${root}a`, value: '' }] })).rejects.toBeInstanceOf(
          KvUnavailableError,
        );
        expect((await kv.status()).connected).toBe(false);
        await kv.close();
      });
    });
  });
}

function revisionOf(result: Awaited<ReturnType<Kv['commit']>>): number {
  if (!result.ok) throw new Error(`unexpected conflict on ${result.failed.join(', ')}`);
  return result.revision;
}
