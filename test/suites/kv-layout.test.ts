import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { prepareWriter } from '../../src/server/store/sqlite/layout.ts';
import { raisedHead } from '../../src/server/recovery/raised.ts';
import type { KvChangeBatch, KvEntry } from '../../src/server/store/kv.ts';
import { loadSqlite } from '../../src/server/store/sqlite/load.ts';
import { openSqliteSnapshot } from '../../src/server/store/sqlite/snapshot.ts';
import { openSqliteKv, type SqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { LAYOUT_1_HEAD, LAYOUT_1_STATEMENTS, makeLayout1, type Written } from '../support/layout-1.ts';

let dir: string;
let kv: SqliteKv | undefined;
const database = (): string => join(dir, 'berth.db');

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-layout-'));
});
afterEach(async () => {
  await kv?.close();
  kv = undefined;
  await rm(dir, { recursive: true, force: true });
});

async function open(ballastBytes = 0): Promise<SqliteKv> {
  await kv?.close();
  kv = await openSqliteKv({ dir, ballastBytes });
  return kv;
}

/** Forty keys that are written three times each, one of them what no trace may be left of. */
function makeOld(writes = 120, bytes = 200): readonly Written[] {
  const key = (i: number): string => (i % 2 === 0 ? `h/t/one/deployments/${i}` : `c/one/events/${i}`);
  return makeLayout1(
    database(),
    Array.from({ length: writes }, (_, i) => [
      key(i % 40),
      `gone${i < writes - 40 ? '' : 'n'} ${i} `.padEnd(bytes, '.'),
    ]),
  );
}

function inFile<T>(read: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(database(), { readOnly: true });
  try {
    return read(db);
  } finally {
    db.close();
  }
}

const layoutIn = (): number => inFile((db) => Number(db.prepare(LAYOUT_1_HEAD).get()?.['format']));
const tablesIn = (): string[] =>
  inFile((db) =>
    db
      .prepare("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name")
      .all()
      .map(({ name }) => String(name)),
  );

const LAYOUT_1 = ['current', 'hot_seal', 'lease', 'leased', 'log', 'log_rev', 'meta'];
const LAYOUT_2 = ['current', 'head', 'history', 'lease', 'leased', 'log', 'meta'];

it('takes every live record of layout 1 as it is, and forgets its history', async () => {
  const live = makeOld();
  const store = await open();
  expect((await store.range('')).entries).toEqual(live);
  expect(await store.head()).toBe(120);
  await expect(store.range('', { revision: 119 })).rejects.toThrow('compacted');
  const lost = vi.fn();
  store.watch('', 100, { onBatch: () => expect.unreachable(), onLost: lost });
  const seen: number[] = [];
  store.watch('', 120, {
    onBatch: ({ revision }) => seen.push(revision),
    onLost: () => expect.unreachable(),
  });
  expect(await store.keepAlive('1')).toBe(true);
  expect(await store.commit({ puts: [{ key: 'new', value: '' }], deletes: [live[0]?.key ?? ''] })).toEqual({
    ok: true,
    revision: 121,
  });
  expect(lost).toHaveBeenCalledOnce();
  expect(seen).toEqual([121]);
  expect((await store.range('', { revision: 120 })).entries).toEqual(live);
  await store.revokeLease('1');
  await (await open()).close();
  expect([layoutIn(), tablesIn()]).toEqual([2, LAYOUT_2]);
});

/** As a store was that had been restored before it was moved. */
function raiseOld(head: number): void {
  const db = new DatabaseSync(database());
  const row = Object.values(db.prepare(LAYOUT_1_HEAD).get() ?? {}).map(Number);
  const raised = [row[0] ?? 0, head, head, ...row.slice(3, -1)];
  db.prepare('REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
    ...raised,
    crc32(raised.join()),
  );
  db.close();
}

const WRITES = 700;
it.each([
  ['restored', () => loadSqlite(join(dir, 'store'), raisedHead(500, Date.now()), noPages())],
  ['restored at a revision of 34 bits', () => loadSqlite(join(dir, 'store'), 2 ** 33 + 7, noPages())],
  [
    'of layout 1 that had been restored',
    async () => {
      await mkdir((dir = join(dir, 'store')));
      makeOld();
      raiseOld(raisedHead(500, Date.now()));
    },
  ],
])('has a history above whatever revision it begins with: a store %s', async (_name, make) => {
  const parent = dir;
  await make();
  dir = join(parent, 'store');
  kv = await openSqliteKv({ dir, ballastBytes: 0, keepRevisions: 300 });
  const store = kv;
  const begun = await store.head();
  const states: (readonly KvEntry[])[] = [];
  for (let i = 1; i <= WRITES; i += 1) {
    const puts = ['a', 'b', `n/${i % 50}`].map((key) => ({ key: `x/${key}`, value: `${key} ${i}` }));
    expect(await store.commit({ puts, deletes: [`x/n/${(i + 25) % 50}`] })).toEqual({
      ok: true,
      revision: begun + i,
    });
    states.push((await store.range('x/')).entries);
  }
  // Old history has gone, and nothing else.
  await expect(store.range('x/', { revision: begun + 200 })).rejects.toThrow('compacted');
  for (const at of [WRITES - 299, WRITES - 100, WRITES])
    expect((await store.range('x/', { revision: begun + at })).entries).toEqual(states[at - 1]);
  const batches: KvChangeBatch[] = [];
  store.watch('x/', begun + WRITES - 250, {
    onBatch: (batch) => batches.push(batch),
    onLost: (reason) => expect.unreachable(reason),
  });
  await vi.waitFor(() => expect(batches).toHaveLength(250));
  expect(batches.map(({ revision }) => revision - begun)).toEqual(
    Array.from({ length: 250 }, (_, at) => WRITES - 249 + at),
  );
  for (const { revision, changes } of batches) {
    const state = states[revision - begun - 1];
    for (const { key, entry } of changes) expect(entry).toEqual(state?.find((one) => one.key === key));
  }
  expect((await (await open()).range('x/')).entries).toEqual(states.at(-1));
  await kv?.close();
  kv = undefined;
  dir = parent;
});

async function* noPages(): AsyncGenerator<readonly KvEntry[]> {}

it('leaves no trace of the values that only the history had', async () => {
  makeOld(4000);
  const before = readFileSync(database());
  expect(before.includes('gone 7 ')).toBe(true);
  await open();
  // In another process: a descriptor closed in this one would drop the locks that SQLite holds.
  const size = (): number => Number(execFileSync('stat', ['-c', '%s', database()]).toString());
  await vi.waitFor(() => expect(size()).toBeLessThan(before.length / 4), { timeout: 20_000, interval: 50 });
  await kv?.close();
  kv = undefined;
  expect(readdirSync(dir)).not.toContain('berth.db-wal');
  expect(readFileSync(database()).includes('gone ')).toBe(false);
});

it('is layout 1 or layout 2, whenever the move is cut off', async () => {
  const live = makeOld();
  const main = readFileSync(database());
  const db = new DatabaseSync(database());
  prepareWriter(db);
  const wal = readFileSync(`${database()}-wal`);
  db.close();
  const frames = (wal.length - 32) / (24 + 4096);
  expect(frames).toBeGreaterThan(5);
  const found = new Set<number>();
  for (let frame = 0; frame <= frames; frame += 1) {
    writeFileSync(database(), main);
    writeFileSync(`${database()}-wal`, wal.subarray(0, 32 + frame * (24 + 4096) + (frame % 2) * 1000));
    const layout = layoutIn();
    found.add(layout);
    expect(tablesIn()).toEqual(layout === 1 ? LAYOUT_1 : LAYOUT_2);
    if (frame % 4 !== 0 && frame !== frames) continue;
    expect((await (await open()).range('')).entries).toEqual(live);
    await kv?.close();
    kv = undefined;
  }
  expect([...found]).toEqual([1, 2]);
});

it('is refused by a release that knows layout 1 alone, for its layout', async () => {
  await (await open()).close();
  inFile((db) => {
    for (const sql of LAYOUT_1_STATEMENTS) db.prepare(sql);
    const head = Object.values(db.prepare(LAYOUT_1_HEAD).get() ?? {}).map(Number);
    expect(head[0]).toBe(2);
    expect(crc32(head.slice(0, -1).join())).toBe(head.at(-1));
  });
});

it('is copied in layout 1 by a process beside it, which changes nothing', async () => {
  const live = makeOld();
  const snapshot = openSqliteSnapshot(dir);
  const entries: Written[] = [];
  for await (const page of snapshot.pages()) entries.push(...page);
  snapshot.close();
  expect([snapshot.revision, entries, layoutIn()]).toEqual([120, live, 1]);
});

it.each([
  ['its head row is false', 'UPDATE meta SET head = head + 1'],
  ['a live record is lost', "DELETE FROM current WHERE key = 'h/t/one/deployments/8'"],
])('finds in a file of layout 1 that %s', async (_name, sql) => {
  makeOld();
  const db = new DatabaseSync(database());
  db.exec(sql);
  db.close();
  await expect(open()).rejects.toThrow('restore a backup');
});

it('stays as it was on a full disk and says so, and goes on where there is a reserve', async () => {
  const mount = dir;
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', mount]);
  try {
    dir = join(mount, 'data');
    await mkdir(dir);
    const live = makeOld(1200, 1000);
    writeFileSync(join(dir, 'reserve'), Buffer.alloc(2 << 20));
    const fillUp = (): void =>
      expect(() => {
        for (;;) appendFileSync(join(mount, 'filler'), Buffer.alloc(4 << 10));
      }).toThrow('ENOSPC');
    // At once, or in the middle of the move.
    for (const spare of [0, 40].map((kibibytes) => kibibytes << 10)) {
      fillUp();
      truncateSync(join(mount, 'filler'), statSync(join(mount, 'filler')).size - spare);
      await expect(open()).rejects.toThrow('no space left');
      // Reading it takes space, too.
      truncateSync(join(mount, 'filler'), 0);
      expect([layoutIn(), tablesIn()]).toEqual([1, LAYOUT_1]);
    }
    fillUp();
    renameSync(join(dir, 'reserve'), join(dir, 'berth.ballast'));
    const store = await open(2 << 20);
    expect((await store.range('')).entries).toEqual(live);
    expect((await store.commit({ deletes: [live[1]?.key ?? ''] })).ok).toBe(true);
    await store.close();
    kv = undefined;
    expect(tablesIn()).toEqual(LAYOUT_2);
  } finally {
    await kv?.close();
    kv = undefined;
    execFileSync('umount', [mount]);
    dir = mount;
  }
});
