import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type KvEntry, KvUnavailableError } from '../../src/server/store/kv.ts';
import { entriesOf } from '../support/loaded-entries.ts';
import { PackedRow } from '../../src/server/store/packed-row.ts';
import { DamageError } from '../../src/server/store/sqlite/fault.ts';
import { openReader } from '../../src/server/store/sqlite/reader.ts';
import { metaRow, readMeta, replaceMeta } from '../../src/server/store/sqlite/schema.ts';
import { beginSqliteKv, openSqliteKv, type SqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { inTier } from '../support/fault-tier.ts';

const writingProcess = new URL('../support/kv-writing-process.ts', import.meta.url).pathname;
let dir: string;
let kv: SqliteKv | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-sqlite-'));
});
afterEach(async () => {
  await kv?.close();
  kv = undefined;
  await rm(dir, { recursive: true, force: true });
});

async function open(options: Partial<Parameters<typeof openSqliteKv>[0]> = {}): Promise<SqliteKv> {
  kv = await openSqliteKv({ dir, ballastBytes: 0, ...options });
  return kv;
}

async function reopen(options = {}): Promise<SqliteKv> {
  await kv?.close();
  return open(options);
}

async function put(store: SqliteKv, key: string, value: string): Promise<number> {
  const result = await store.commit({ puts: [{ key, value }] });
  if (!result.ok) throw new Error('unexpected conflict');
  return result.revision;
}

async function failureOf(work: Promise<unknown>): Promise<KvUnavailableError> {
  const error = await work.then(
    () => new Error('nothing failed'),
    (fault: unknown) => fault,
  );
  if (!(error instanceof KvUnavailableError)) throw error;
  return error;
}

/** Starts the writing process and reads what it has acknowledged. */
function startWriting(run: string) {
  const child = spawn(process.execPath, [writingProcess, dir, run], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const closed = once(child, 'close');
  return {
    lines,
    pid: child.pid ?? 0,
    async kill() {
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** Writes that the log holds since it began anew: frames with its salt that end a transaction. */
function writesIn(wal: Buffer): number {
  if (wal.length < 32) return 0;
  const frameBytes = 24 + wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  let writes = 0;
  for (let at = 32; at + frameBytes <= wal.length; at += frameBytes) {
    if (!wal.subarray(at + 8, at + 16).equals(salt)) break;
    if (wal.readUInt32BE(at + 4) > 0) writes += 1;
  }
  return writes;
}

describe('process death', () => {
  it('loses nothing that was acknowledged when killed, and tears nothing', async () => {
    const acknowledged: string[] = [];
    for (let run = 0; run < 6; run++) {
      const child = startWriting(`run${run}`);
      const enough = 200 + run * 137;
      await vi.waitFor(() => expect(child.lines.length).toBeGreaterThan(enough), {
        timeout: 60_000,
        interval: 5,
      });
      await child.kill();
      acknowledged.push(...child.lines.slice(1));
      const store = await open();
      const a = (await store.range('a/')).entries;
      const b = (await store.range('b/')).entries;
      expect(a.map((entry) => entry.value)).toEqual(b.map((entry) => entry.value));
      const found = new Set(a.map((entry) => entry.key.slice(2)));
      expect(acknowledged.filter((key) => !found.has(key))).toEqual([]);
      await store.close();
    }
    expect(acknowledged.length).toBeGreaterThan(2000);
  });

  it('names the directory and the process that holds it, and lets go when that is killed', async () => {
    const child = startWriting('held');
    await vi.waitFor(() => expect(child.lines[0]).toBe('open'), { timeout: 60_000 });
    const error = await failureOf(open());
    expect(error.message).toContain(dir);
    expect(error.message).toContain(String(child.pid));
    await child.kill();
    expect((await (await open()).status()).problem).toBeUndefined();
  });

  it('refuses the directory to a second store of the same process', async () => {
    await open();
    await expect(openSqliteKv({ dir })).rejects.toThrow(String(process.pid));
    expect(await put(kv as SqliteKv, 'a', '1')).toBeGreaterThan(0);
    await expect(openSqliteKv({ dir })).rejects.toThrow(dir);
  });

  describe('of the writer thread only', () => {
    let thread: Worker;
    let store: SqliteKv;
    const seen: number[] = [];

    beforeEach(async () => {
      seen.length = 0;
      process.once('worker', (worker) => {
        thread = worker;
      });
      store = await open();
      store.watch('', 0, {
        onBatch: (batch) => seen.push(batch.revision),
        onLost: (reason) => expect.unreachable(reason),
      });
    });

    const expectWhole = async (): Promise<void> => {
      await vi.waitFor(() => put(store, 'after', ''), { timeout: 10_000, interval: 20 });
      expect((await store.status()).problem).toBeUndefined();
      const head = await store.head();
      await vi.waitFor(() => expect(seen.at(-1)).toBe(head), 5000);
      expect(seen).toEqual(Array.from({ length: head }, (_, i) => i + 1));
    };

    it('fails what was under way, and starts another', async () => {
      await put(store, 'before', '');
      const running = Array.from({ length: 200 }, (_, i) =>
        put(store, `k${i}`, '').catch((error: unknown) => error),
      );
      setImmediate(() => void thread.terminate());
      const failed = (await Promise.all(running)).filter((result) => typeof result !== 'number');
      expect(failed.length).toBeGreaterThan(0);
      for (const error of failed) {
        expect(error).toMatchObject({ name: 'KvUnavailableError', certainlyNotApplied: false });
      }
      await expectWhole();
    });

    it('shows watchers what was committed but never answered', async () => {
      const before = await put(store, 'before', '');
      thread.removeAllListeners('message');
      const unanswered = failureOf(put(store, 'unanswered', ''));
      await vi.waitFor(async () => expect(await store.head()).toBeGreaterThan(before), 5000);
      await thread.terminate();
      expect((await unanswered).certainlyNotApplied).toBe(false);
      await expectWhole();
      expect(await store.get('unanswered')).toBeDefined();
    });
  });
});

describe('group commit', () => {
  it('lets commits that wait share one sync', async () => {
    const store = await open();
    // After some that came one by one, which wait for nobody.
    for (const key of ['a', 'b', 'c']) await put(store, key, '');
    const before = store.transactions;
    await Promise.all(Array.from({ length: 500 }, (_, i) => put(store, `k${i}`, `${i}`)));
    expect((await store.range('k')).entries).toHaveLength(500);
    expect(store.transactions - before).toBeLessThan(50);
  });

  it('says that a commit is durable in the turn in which watchers hear of it, before they do', async () => {
    const store = await open();
    const heard: string[] = [];
    store.watch('', 0, {
      onBatch: ({ revision }) => heard.push(`watched ${revision}`),
      onLost: () => heard.push('lost'),
    });
    const told = (key: string, modRevision: number): Promise<unknown> =>
      store.commit({
        guards: [{ key, modRevision }],
        puts: [{ key, value: '' }],
        onDurable(revision) {
          heard.push(`durable ${revision}`);
          queueMicrotask(() => heard.push('turn over'));
          // Other connections see what is on disk alone.
          const other = new DatabaseSync(join(dir, 'berth.db'), { readOnly: true });
          heard.push(`head ${Number(other.prepare('SELECT head FROM head').get()?.['head'])}`);
          other.close();
        },
      });
    await told('a', 0);
    expect(heard).toEqual(['durable 1', 'head 1', 'watched 1', 'turn over']);
    expect(await told('a', 0)).toMatchObject({ ok: false });
    expect(heard).toHaveLength(4);
  });

  it('does not fail a commit for what another in the same transaction did', async () => {
    const store = await open();
    const results = await Promise.allSettled([
      put(store, 'a', '1'),
      store.commit({ guards: [{ key: 'a', modRevision: 0 }], puts: [{ key: 'a', value: '2' }] }),
      store.commit({ puts: [{ key: 'b', value: '', lease: '12345' }] }),
      put(store, 'c', '3'),
    ]);
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(results[1]).toMatchObject({ value: { ok: false, failed: ['a'] } });
    expect((await store.range('')).entries.map((entry) => entry.value)).toEqual(['1', '3']);
  });
});

describe('files', () => {
  it('are readable by their owner only', async () => {
    dir = join(dir, 'made');
    const store = await open({ ballastBytes: 4096 });
    await put(store, 'a', '1');
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(mode(dir)).toBe('700');
    for (const name of ['db', 'db-wal', 'db-shm', 'lock', 'holder', 'ballast']) {
      expect([name, mode(join(dir, `berth.${name}`))]).toEqual([name, '600']);
    }
  });

  it('stay small under rewriting and shrink after deletion', async () => {
    const store = await open({ keepRevisions: 200 });
    const value = 'x'.repeat(4096);
    const rewrite = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) {
        await Promise.all(Array.from({ length: 20 }, (_, k) => put(store, `k${k}`, value)));
      }
    };
    await rewrite();
    const size = (): number => statSync(join(dir, 'berth.db')).size;
    await vi.waitFor(() => expect(size()).toBeLessThan(12 << 20), { timeout: 10_000, interval: 50 });
    await Promise.all(Array.from({ length: 4000 }, (_, k) => put(store, `many${k}`, value)));
    await vi.waitFor(() => expect(size()).toBeGreaterThan(16 << 20), { timeout: 10_000, interval: 50 });
    await store.commit({ deletes: Array.from({ length: 4000 }, (_, k) => `many${k}`) });
    await rewrite();
    await vi.waitFor(() => expect(size()).toBeLessThan(12 << 20), { timeout: 20_000, interval: 50 });
    expect(statSync(join(dir, 'berth.db-wal')).size).toBeLessThan(64 << 20);
    expect((await (await reopen()).range('')).entries).toHaveLength(20);
  });

  it('keep no more history than asked for, by number and by size', async () => {
    const store = await open({ keepRevisions: 100_000, keepBytes: 1 << 20 });
    const first = await put(store, 'a', '');
    for (let i = 0; i < 40; i++) await put(store, 'a', 'x'.repeat(100_000));
    await vi.waitFor(() => expect(store.range('', { revision: first })).rejects.toThrow('compacted'), 5000);
    const head = await store.head();
    expect((await store.range('', { revision: head - 2 })).entries).toHaveLength(1);
    await reopen();
  });
});

describe('history', () => {
  it('is told and read as it happened, however often keys were overwritten since', async () => {
    const store = await open();
    const written: { key: string; value?: string }[][] = [[]];
    const commits: Promise<unknown>[] = [];
    // Some keys change in every slice that is read at once, some long after it, some never again.
    for (let at = 0; at < 900; at += 1) {
      const keys = new Set([`often/${at % 3}`, `rare/${(at * at) % 400}`, `once/${at}`]);
      const puts = [...keys]
        .filter((_, i) => (at + i) % 5 !== 0)
        .map((key) => ({ key, value: `${key} ${at}` }));
      const deletes = [...keys].filter((key) => !puts.some((other) => other.key === key));
      written.push([...puts, ...deletes.map((key) => ({ key }))]);
      commits.push(store.commit({ puts, deletes }));
    }
    await Promise.all(commits);
    const at: Map<string, string>[] = [new Map()];
    const told: string[][] = [[]];
    for (const [revision, changes] of written.entries()) {
      if (revision === 0) continue;
      const [state, lines] = [new Map(at[revision - 1]), [] as string[]];
      for (const { key, value } of changes) {
        if (value !== undefined || state.has(key)) lines.push(`${key}=${value ?? ''}`);
        if (value === undefined) state.delete(key);
        else state.set(key, value);
      }
      at.push(state);
      told.push(lines);
    }
    for (const after of [0, 1, 255, 256, 257, 640, 899]) {
      const seen: string[][] = [];
      const watch = store.watch('', after, {
        onBatch: ({ changes }) => seen.push(changes.map(({ key, entry }) => `${key}=${entry?.value ?? ''}`)),
        onLost: (reason) => expect.unreachable(reason),
      });
      await vi.waitFor(() => expect(seen.length).toBe(told.length - 1 - after), 5000);
      watch.close();
      expect(seen).toEqual(told.slice(after + 1));
      const { entries } = await store.range('', { revision: after });
      expect(new Map(entries.map(({ key, value }) => [key, value]))).toEqual(at[after]);
    }
  });

  it.each([
    ['names another key', "UPDATE history SET key = 'c' WHERE key = 'b'"],
    [
      'is of another revision',
      'UPDATE history SET seq = seq + 1048576 WHERE seq = (SELECT max(seq) FROM history)',
    ],
    ['says that a key was deleted', "UPDATE history SET create_rev = 0 WHERE key = 'b'"],
    ['replaced another value', "UPDATE history SET prev_value = 'x' WHERE prev_value IS NOT NULL"],
    [
      'replaced nothing',
      'UPDATE history SET (prev_value, prev_create_rev, prev_mod_rev, prev_sum) = (NULL, NULL, NULL, NULL)',
    ],
    ['is missing', "DELETE FROM history WHERE key = 'b'"],
  ])('that is damaged is found: a change %s', async (_name, sql) => {
    const store = await open();
    for (const [key, value] of ['a1', 'b1', 'a2'].entries()) await put(store, value.charAt(0), `${key}`);
    await store.close();
    const db = new DatabaseSync(join(dir, 'berth.db'));
    expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
    db.close();
    expect((await failureOf(open())).message).toContain('restore a backup');
  });
});

describe('history of one key', () => {
  it.each([
    ['replaced nothing', 'UPDATE history SET prev_mod_rev = NULL WHERE prev_mod_rev = 1'],
    ['replaced what was before', 'UPDATE history SET prev_mod_rev = 0 WHERE prev_mod_rev = 1'],
    ['is missing', 'DELETE FROM history WHERE prev_mod_rev = 2'],
  ])('never tells a value as a deletion: a change %s', async (_name, sql) => {
    const store = await open();
    await put(store, 'a', '1');
    await put(store, 'a', '2');
    await store.commit({ deletes: ['a'] });
    await put(store, 'a', '4');
    await store.close();
    const db = new DatabaseSync(join(dir, 'berth.db'));
    expect(db.prepare(sql).run().changes).toBe(1);
    db.close();
    const reader = openReader(join(dir, 'berth.db'));
    expect(() => reader.history(0, 256)).toThrow(DamageError);
    reader.close();
  });
});

describe('damage', () => {
  const value = (i: number): string => `value ${i} ${'v'.repeat(300)}`;
  const database = (): string => join(dir, 'berth.db');

  async function fill(): Promise<void> {
    const store = await open();
    await Promise.all(Array.from({ length: 400 }, (_, i) => put(store, `key/${i}`, value(i))));
    await store.close();
  }

  it('never gives a wrong answer after a byte of the file has flipped', async () => {
    await fill();
    const sound = readFileSync(database());
    let refused = 0;
    // Of eighty places, in the header and all over the file, every run takes some; the long tier all of them.
    for (let n = 0; n < 80; n += inTier({ usual: 3, long: 1 })) {
      const offset = n < 20 ? n * 5 : Math.floor((sound.length * (n - 20)) / 60) + n;
      const damaged = Buffer.from(sound);
      damaged[offset] = (damaged[offset] ?? 0) ^ (1 << (n % 8));
      writeFileSync(database(), damaged);
      const found = await open()
        .then(async (store) =>
          (await store.range('key/')).entries.map((entry) => [entry.key, entry.value].join()),
        )
        .catch((error: unknown) => {
          expect(error, `offset ${offset}`).toBeInstanceOf(KvUnavailableError);
          expect(String(error)).toContain(database());
          return undefined;
        });
      await kv?.close();
      kv = undefined;
      if (found === undefined) refused++;
      else
        expect(found.toSorted(), `offset ${offset}`).toEqual(
          Array.from({ length: 400 }, (_, i) => `key/${i},${value(i)}`).toSorted(),
        );
    }
    expect(refused).toBeGreaterThan(inTier({ usual: 10, long: 30 }));
  });

  it.each([
    ['cut in half', () => truncateSync(database(), statSync(database()).size / 2)],
    ['emptied', () => truncateSync(database(), 0)],
    [
      'something else',
      () => writeFileSync(database(), 'not a database at all, but long enough to be one'.repeat(100)),
    ],
  ])('refuses a file that is %s and says what to do', async (_name, damage) => {
    await (await open({ ballastBytes: 4096 })).close();
    await fill();
    damage();
    const error = await failureOf(open());
    expect(error.message).toContain(database());
    expect(error.message).toContain('restore a backup');
    await expect(open()).rejects.toThrow(KvUnavailableError);
  });

  it.each([
    ['their values', 'value'],
    ['their values and checksums', 'value, sum'],
  ])('refuses a file in which records of two tenants have swapped %s', async (_name, columns) => {
    const store = await open();
    const keys = ['h/t/one/deployments/web', 'h/t/two/deployments/web'];
    for (const key of keys) await put(store, key, `of ${key}`);
    await store.close();
    const db = new DatabaseSync(database());
    const read = db.prepare(`SELECT ${columns} FROM current WHERE key = ?`);
    const names = columns.split(', ');
    const write = db.prepare(
      `UPDATE current SET ${names.map((name) => `${name} = ?`).join(', ')} WHERE key = ?`,
    );
    const rows = keys.map((key) => read.get(key) ?? {});
    for (const [at, key] of keys.entries()) {
      const other = rows[1 - at] ?? {};
      write.run(...names.map((name) => other[name] ?? null), key);
    }
    db.close();
    const error = await failureOf(open());
    expect(error.message).toContain(database());
  });

  it('stops answering when damage is found later', async () => {
    await fill();
    const store = await open();
    // In another process: a descriptor closed in this one would drop the locks that SQLite holds.
    const flip = `const fs = require('fs'); const f = fs.openSync(process.argv[1], 'r+'); const b = fs.readFileSync(f);
      for (let i = 4096; i < b.length; i++) if (b[i] === 0x76 && b[i + 1] === 0x76) b[i] = 0x77;
      fs.writeSync(f, b, 0, b.length, 0); fs.fsyncSync(f);`;
    execFileSync(process.execPath, ['-e', flip, database()]);
    const error = await failureOf(store.get('key/7'));
    expect(error.message).toContain(database());
    expect((await store.status()).problem).toContain('damaged');
    expect((await failureOf(put(store, 'key/7', 'x'))).certainlyNotApplied).toBe(true);
    await failureOf(store.get('absent'));
  });

  it('tells a damaged write-ahead log from one that a crash cut off', async () => {
    const acknowledged: string[] = [];
    let wal = Buffer.alloc(0);
    // The log begins anew now and then; of a single write damage and a cut look the same.
    for (let run = 0; writesIn(wal) < 10; run += 1) {
      expect(run).toBeLessThan(40);
      const child = startWriting(`wal${run}`);
      const enough = 150 + (run % 5) * 150;
      await vi.waitFor(() => expect(child.lines.length).toBeGreaterThan(enough), {
        timeout: 60_000,
        interval: 5,
      });
      await child.kill();
      acknowledged.push(...child.lines.slice(1).map((key) => `a/${key}`));
      wal = readFileSync(`${database()}-wal`);
    }
    const main = readFileSync(database());
    const openWith = async (content: Buffer): Promise<Set<string> | undefined> => {
      writeFileSync(database(), main);
      writeFileSync(`${database()}-wal`, content);
      try {
        return new Set((await (await open()).range('a/')).entries.map((entry) => entry.key));
      } catch (error) {
        expect(String(error)).toContain('write-ahead log');
        return undefined;
      } finally {
        await kv?.close();
        kv = undefined;
      }
    };
    const missing = (found: Set<string> | undefined) =>
      found && acknowledged.filter((key) => !found.has(key));
    expect(missing(await openWith(wal))).toEqual([]);
    for (const offset of [5, 20, 40, 5000, 12_000]) {
      const flipped = Buffer.from(wal);
      flipped[offset] = (flipped[offset] ?? 0) ^ 4;
      expect(missing(await openWith(flipped)), `offset ${offset}`).toBeUndefined();
    }
    expect(await openWith(wal.subarray(0, wal.length - 2000))).toBeDefined();
  });

  describe('of a store with much history, whose live records alone are proved before it is served', () => {
    const hot = (i: number): string => `h/t/one/deployments/web-${i}`;
    const [live, past] = [300, 21_000];

    interface Files {
      readonly rows: Buffer;
      readonly log: Buffer;
    }
    /** Made once: it takes as long as what is tried with it. */
    let filled: Files | undefined;

    async function fillLarge(): Promise<void> {
      filled ??= await killedWhileWriting();
      writeFileSync(database(), filled.rows);
      writeFileSync(`${database()}-wal`, filled.log);
    }

    async function killedWhileWriting(): Promise<Files> {
      const store = await open();
      for (let from = 0; from < past; from += 3000)
        await store.commit({
          puts: Array.from({ length: 3000 }, (_, i) => ({
            key: `c/one/events/${from + i}`,
            value: value(i),
          })),
        });
      await store.commit({
        puts: Array.from({ length: live }, (_, i) => ({ key: hot(i), value: value(i) })),
      });
      await store.close();
      const again = await open();
      await again.commit({ deletes: [hot(7)], puts: [{ key: hot(8), value: 'other' }] });
      await put(again, hot(live), 'new');
      const files = { rows: readFileSync(database()), log: readFileSync(`${database()}-wal`) };
      await again.close();
      return files;
    }

    /** Behind its back; what it says of itself stays as it was. */
    function alter(sql: string): void {
      const db = new DatabaseSync(database());
      expect(db.prepare(sql).run().changes).toBeGreaterThan(0);
      db.close();
    }

    async function begin(): Promise<SqliteKv> {
      kv = await beginSqliteKv({ dir, ballastBytes: 0, readAhead: true });
      return kv;
    }

    async function readAhead(store: SqliteKv): Promise<Map<string, KvEntry>> {
      const read = new Map<string, KvEntry>();
      for await (const pack of store.readAhead?.('h/') ?? [])
        for (const row = new PackedRow(pack); row.next(); ) {
          expect(pack.revision).toBe(await store.head());
          const entry = row.entry();
          read.set(entry.key, entry);
        }
      return read;
    }

    it('reads live records in any order as one snapshot, and finds lost history while it serves', async () => {
      await fillLarge();
      alter("DELETE FROM current WHERE key = 'c/one/events/4711'");
      const store = await begin();
      const ahead = await readAhead(store);
      await store.live;
      const loaded = new Map<string, string>();
      for await (const page of store.load?.('h/') ?? [])
        for (const { key, value: text } of entriesOf(page)) loaded.set(key, text);
      const { entries } = await store.range('h/');
      expect(loaded).toEqual(new Map(entries.map(({ key, value: text }) => [key, text])));
      expect(loaded.size).toBe(live);
      // Rows are read once: what was proved is what is handed on, and that once.
      expect(ahead).toEqual(new Map(entries.map((entry) => [entry.key, entry])));
      expect(store.readAhead?.('h/')).toBeUndefined();
      expect(loaded.get(hot(8))).toBe('other');
      // Who starts has nobody wait for the history: it is read when it is asked for. So many writes take longer than reading it does.
      for (let at = 0; at < 300; at += 1) await put(store, hot(1), `${at}`);
      expect((await store.status()).connected).toBe(true);
      expect((await failureOf(store.verify())).message).toContain('restore a backup');
      await failureOf(store.get('c/one/events/1'));
      await store.close();
      // Known to be damaged: it is not served a second time.
      expect((await failureOf((await begin()).live)).message).toContain('restore a backup');
    });

    it.each([
      ['a live record is lost', `DELETE FROM current WHERE key = '${hot(9)}'`],
      [
        'a deleted one is back',
        `INSERT INTO current SELECT '${hot(7)}', value, create_rev, mod_rev, sum FROM current WHERE key = '${hot(1)}'`,
      ],
      ['one is not what was written', `UPDATE current SET value = 'false' WHERE key = '${hot(10)}'`],
    ])('is not served when %s', async (_name, sql) => {
      await fillLarge();
      alter(sql);
      const store = await begin();
      expect((await failureOf(readAhead(store))).message).toContain('read again');
      expect((await failureOf(store.live)).message).toContain('restore a backup');
      await failureOf(store.get(hot(1)));
    });

    it('is not served when a bit has made bytes of a text', async () => {
      await fillLarge();
      const db = new DatabaseSync(database());
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      db.close();
      const file = readFileSync(database());
      // Five types of columns come before the key, the second is that of the value.
      const typeAt = file.lastIndexOf(`${hot(live)}new`) - 4;
      expect(file[typeAt]).toBe(13 + 2 * 'new'.length);
      file[typeAt] = 12 + 2 * 'new'.length;
      writeFileSync(database(), file);
      const store = await begin();
      expect((await failureOf(readAhead(store))).message).toContain('read again');
      expect((await failureOf(store.live)).message).toContain('restore a backup');
    });

    it('is opened though nobody takes its records, or somebody took some and left', async () => {
      const [rows, megabyte] = [72, 1024 * 1024];
      const store = await open();
      for (let from = 0; from < past; from += 3000)
        await store.commit({
          puts: Array.from({ length: 3000 }, (_, i) => ({ key: `c/one/events/${from + i}`, value: '' })),
        });
      for (let at = 0; at < rows; at += 1) await put(store, hot(at), 'x'.repeat(megabyte));
      await store.close();
      const first = await begin();
      // More than it may be ahead: in the end it goes on by itself.
      await first.live;
      expect((await readAhead(first)).size).toBe(rows);
      await first.close();
      const second = await begin();
      for await (const { values } of second.readAhead?.('h/') ?? []) {
        expect(values.length).toBeGreaterThanOrEqual(megabyte);
        break;
      }
      await second.live;
      expect(second.readAhead?.('h/')).toBeUndefined();
    });

    it('is not served when rows and log are those of before the last write', async () => {
      await fillLarge();
      const store = await begin();
      await store.verify();
      await put(store, hot(1), 'revoked');
      await store.close();
      // As a disk leaves it that took the page of the newest revision and lost the others.
      alter(
        `UPDATE current SET (value, mod_rev, sum) = (SELECT prev_value, prev_mod_rev, prev_sum FROM history ORDER BY seq DESC LIMIT 1) WHERE key = '${hot(1)}'`,
      );
      alter('DELETE FROM history WHERE seq = (SELECT max(seq) FROM history)');
      expect((await failureOf((await begin()).live)).message).toContain('restore a backup');
    });

    it('is proved as a whole where the seal is not to be had', async () => {
      await fillLarge();
      const db = new DatabaseSync(database());
      const meta = readMeta(db);
      db.prepare(replaceMeta).run(...metaRow({ ...meta, hotCount: meta.hotCount + 1 }));
      db.close();
      const store = await begin();
      expect((await failureOf(readAhead(store))).message).toContain('read again');
      await Promise.all([store.live, store.verify()]);
      await put(store, hot(live + 1), 'x');
      await store.close();
      alter("DELETE FROM current WHERE key = 'c/one/events/4711'");
      // It has a seal now that is right, so that the loss does not show before it is served.
      await (await begin()).live;
    });
  });

  it('opens a copy of its file', async () => {
    await fill();
    const copy = await mkdtemp(join(tmpdir(), 'berth-copy-'));
    copyFileSync(database(), join(copy, 'berth.db'));
    const store = await openSqliteKv({ dir: copy, ballastBytes: 0 });
    expect((await store.range('key/')).entries).toHaveLength(400);
    await store.close();
    await rm(copy, { recursive: true });
  });
});

describe('disk full', () => {
  let mount: string;
  beforeEach(() => {
    mount = dir;
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', mount]);
    dir = join(mount, 'data');
  });
  afterEach(async () => {
    await kv?.close();
    kv = undefined;
    execFileSync('umount', [mount]);
    dir = mount;
  });

  const takeAll = (path: string): void => {
    try {
      for (;;) appendFileSync(path, Buffer.alloc(64 << 10));
    } catch (error) {
      expect(String(error)).toContain('ENOSPC');
    }
  };

  const fillUp = async (store: SqliteKv, acknowledged: Map<string, string>): Promise<KvUnavailableError> => {
    for (let i = 0; ; i++) {
      const [key, value] = [`full/${i}`, `${i}`.padEnd(20_000, '.')];
      const error = await put(store, key, value).catch((fault: unknown) => fault);
      if (error instanceof KvUnavailableError) return error;
      acknowledged.set(key, value);
    }
  };

  it('refuses in words, still deletes, recovers by itself and loses nothing', async () => {
    writeFileSync(join(mount, 'filler'), Buffer.alloc(12 << 20));
    const store = await open({ ballastBytes: 4 << 20 });
    const acknowledged = new Map<string, string>();
    const error = await fillUp(store, acknowledged);
    expect(error.certainlyNotApplied).toBe(true);
    expect(error.message).toContain(dir);
    const status = await store.status();
    expect(status).toMatchObject({ connected: true, problem: expect.stringContaining('no space left') });

    const begun = performance.now();
    await failureOf(put(store, 'more', 'x'.repeat(20_000)));
    expect(performance.now() - begun).toBeLessThan(1000);
    // Far more than the reserve would hold if deletions only ever took space.
    const remove = async (i: number): Promise<void> => {
      const key = `full/${i}`;
      const entry = await store.get(key);
      const result = await store.commit({
        guards: [{ key, modRevision: entry?.modRevision ?? 0 }],
        deletes: [key],
        puts: [{ key: `event/${i}`, value: 'deleted' }],
      });
      expect(result.ok).toBe(true);
      acknowledged.delete(key);
      acknowledged.set(`event/${i}`, 'deleted');
    };
    const count = acknowledged.size - 10;
    expect(count * 20_000).toBeGreaterThan(4 << 20);
    // Another writer takes every byte that is given back.
    const greedy = setInterval(() => takeAll(join(mount, 'greedy')), 20);
    for (let i = 0; i < count; i += 8) await Promise.all(Array.from({ length: 8 }, (_, k) => remove(i + k)));
    clearInterval(greedy);
    const [smaller, bigger] = [...acknowledged.keys()].filter((key) => key.startsWith('full/')) as [
      string,
      string,
    ];
    expect(await put(store, smaller, 'scaled down')).toBeGreaterThan(0);
    acknowledged.set(smaller, 'scaled down');
    await failureOf(put(store, bigger, 'x'.repeat(40_000)));

    await rm(join(mount, 'filler'));
    await rm(join(mount, 'greedy'), { force: true });
    await vi.waitFor(() => put(store, 'again', 'fits'), { timeout: 5000, interval: 50 });
    acknowledged.set('again', 'fits');
    expect((await store.status()).problem).toBeUndefined();

    const after = await reopen({ ballastBytes: 4 << 20 });
    const found = new Map((await after.range('')).entries.map((entry) => [entry.key, entry.value]));
    expect(found).toEqual(acknowledged);
  });

  it('opens on a full disk, reads and deletes', async () => {
    const store = await open({ ballastBytes: 4 << 20 });
    const acknowledged = new Map<string, string>();
    await fillUp(store, acknowledged);
    const after = await reopen({ ballastBytes: 4 << 20 });
    expect((await after.range('full/')).entries).toHaveLength(acknowledged.size);
    expect((await after.commit({ deletes: ['full/0'] })).ok).toBe(true);

    await after.close();
    takeAll(join(mount, 'filler'));
    expect((await (await open({ ballastBytes: 4 << 20 })).commit({ deletes: ['full/1'] })).ok).toBe(true);
  });

  it('says so when there is no space to begin with', async () => {
    takeAll(join(mount, 'filler'));
    const error = await failureOf(open());
    expect(error.message).toContain('no space left');
    expect(error.message).toContain(dir);
  });
});
