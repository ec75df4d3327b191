import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Config, loadConfig } from '../../src/server/config.ts';
import { makeBackup } from '../../src/server/recovery/backup.ts';
import { migrateStore } from '../../src/server/recovery/migrate.ts';
import { restoreBackup } from '../../src/server/recovery/restore.ts';
import { storePlace } from '../../src/server/recovery/store-place.ts';
import { STATUS } from '../../src/server/recovery/failure.ts';
import { verifyBackup } from '../../src/server/recovery/verify.ts';
import { globalKey, LOADING_KEY } from '../../src/server/store/keys.ts';
import type { Kv, KvEntry } from '../../src/server/store/kv.ts';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { requireWholeStore } from '../../src/server/startup.ts';
import { isEmptyStore, readWhole, writeWhole } from '../../src/server/store/whole-store.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { deploymentsOf, recordsOf } from '../support/many-records.ts';

/** A store that goes from SQLite to etcd and back, and backups of either. The long tier has 100,000 deployments. */
const DEPLOYMENTS = LONG_TIER ? 100_000 : 300;
const TIMEOUT_MS = LONG_TIER ? 3_600_000 : 60_000;
const PASSPHRASE = 'a passphrase of this test';
const signal = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'berth-recovery-etcd-'));
let etcd: Etcd;

beforeAll(async () => {
  etcd = await startEtcd({ args: ['--quota-backend-bytes=8589934592'] });
});
afterAll(async () => {
  await etcd?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const onSqlite = (name: string): Config => loadConfig(['--data-dir', join(folder, name)], {});
const onEtcd = (prefix: string): Config =>
  loadConfig(['--data-dir', join(folder, 'etcd')], {
    BERTH_STORE_KIND: 'etcd',
    BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(),
    BERTH_STORE_ETCD_PREFIX: prefix,
  });

async function withKv(prefix: string, use: (kv: Kv) => Promise<void>): Promise<void> {
  const kv = await openEtcdKv({ endpoints: etcd.endpoints, prefix });
  try {
    await use(kv);
  } finally {
    await kv.close();
  }
}

async function* pagesOf(entries: readonly KvEntry[]): AsyncGenerator<readonly KvEntry[]> {
  yield entries;
}

async function all(config: Config): Promise<KvEntry[]> {
  const store = await readWhole(storePlace(config));
  const entries: KvEntry[] = [];
  for await (const page of store.pages()) entries.push(...page);
  await store.close();
  return entries;
}

function tell(what: string, sinceMs: number, figures: Readonly<Record<string, unknown>>): void {
  const seconds = Math.round((performance.now() - sinceMs) / 100) / 10;
  const rssMiB = Math.round(process.memoryUsage.rss() / 2 ** 20);
  console.log(`${what}: ${JSON.stringify({ seconds, rssMiB, ...figures })}`);
}

describe('a store that moves', () => {
  it(
    `holds the same ${DEPLOYMENTS} deployments in etcd, back in SQLite, and after a backup of each`,
    async () => {
      let beganMs = performance.now();
      await writeWhole(storePlace(onSqlite('first')), 1_000_000, deploymentsOf(DEPLOYMENTS));
      tell('made', beganMs, {});
      beganMs = performance.now();
      const there = await migrateStore(onSqlite('first'), onEtcd('/one/'));
      expect(there.kinds.get('deployments')).toBe(DEPLOYMENTS);
      tell('to etcd', beganMs, { records: there.records });
      beganMs = performance.now();
      const back = await migrateStore(onEtcd('/one/'), onSqlite('second'));
      tell('and back', beganMs, { records: back.records });
      expect(back).toEqual(there);

      for (const [name, config] of [
        ['etcd', onEtcd('/one/')],
        ['sqlite', onSqlite('second')],
      ] as const) {
        beganMs = performance.now();
        const to = join(folder, `${name}.backup`);
        const made = await makeBackup({ config, to, passphrase: PASSPHRASE, signal, cost: 1024 });
        expect(made.contents.sha256).toBe(there.sha256);
        tell(`backup of ${name}`, beganMs, { bytes: made.bytes });
        beganMs = performance.now();
        expect((await verifyBackup(to, PASSPHRASE, signal)).contents.sha256).toBe(there.sha256);
        tell(`verify of ${name}`, beganMs, {});
      }
    },
    TIMEOUT_MS,
  );

  it('leaves out what belongs to processes, and starts over what was cut off', async () => {
    const sample = recordsOf(3);
    await withKv('/two/', async (kv) => {
      await kv.commit({ puts: sample.map(({ key, value }) => ({ key, value })) });
      await kv.commit({ puts: [{ key: globalKey('shards', '1'), value: '{"v":1}' }] });
      await kv.commit({ puts: [{ key: 'h/t/a/node-sessions/n1', value: '{"v":1}' }] });
    });
    const source = onEtcd('/two/');
    expect((await all(source)).map(({ key }) => key)).toEqual(sample.map(({ key }) => key).toSorted());

    const to = join(folder, 'two.backup');
    await makeBackup({ config: source, to, passphrase: PASSPHRASE, signal, cost: 1024 });
    const target = onEtcd('/three/');
    // As a restore leaves it that was killed.
    await withKv('/three/', async (kv) => {
      await kv.commit({ puts: [{ key: LOADING_KEY, value: '{}' }] });
      await kv.commit({ puts: [{ key: globalKey('tenants', 'left'), value: '{"v":1}' }] });
    });
    await expect(readWhole(storePlace(target))).rejects.toThrow('was cut off');
    await restoreBackup({ config: target, from: to, passphrase: PASSPHRASE, signal });
    const restored = (await all(target)).map(({ key }) => key).filter((key) => !key.startsWith('c/'));
    expect(restored).toEqual(
      sample
        .map(({ key }) => key)
        .filter((key) => key.startsWith('h/'))
        .toSorted(),
    );
    await expect(
      restoreBackup({ config: target, from: to, passphrase: PASSPHRASE, signal }),
    ).rejects.toMatchObject({ status: STATUS.notEmpty });
  });

  it('is not served where what was written is not what was read, and is moved by the next attempt', async () => {
    const [source, target] = [onEtcd('/seven/'), onSqlite('seven')];
    await withKv('/seven/', async (kv) => {
      await kv.commit({ puts: recordsOf(9).map(({ key, value }) => ({ key, value })) });
      // Somebody who is no control plane writes all the time.
      let [count, isOver] = [0, false];
      const write = () =>
        kv.commit({ puts: [{ key: globalKey('tenants', 'late'), value: `{"v":${(count += 1)}}` }] });
      await write();
      const writing = (async () => {
        while (!isOver) await write();
      })();
      await expect(migrateStore(source, target)).rejects.toMatchObject({
        status: STATUS.differs,
        message: expect.stringMatching(
          /was changed meanwhile and differs: .*; nothing is served from .*seven/,
        ),
      });
      isOver = true;
      await writing;
    });
    expect(await isEmptyStore(storePlace(target))).toBe(true);
    expect((await migrateStore(source, target)).records).toBe(recordsOf(9).length + 1);

    // Into etcd its mark stays, by which a control plane ends.
    const prove = () => Promise.reject(new Error('differs'));
    const there = storePlace(onEtcd('/eight/'));
    await expect(writeWhole(there, 7, pagesOf(recordsOf(1)), prove)).rejects.toThrow('differs');
    await expect(readWhole(there)).rejects.toThrow('was cut off');
    await withKv('/eight/', (kv) => expect(requireWholeStore(kv)).rejects.toThrow('run it once more'));
    await writeWhole(there, 7, pagesOf(recordsOf(1)));
    await withKv('/eight/', requireWholeStore);
  });

  it('stays where it is while a control plane runs on it', async () => {
    await withKv('/four/', async (kv) => {
      await kv.commit({ puts: recordsOf(1).map(({ key, value }) => ({ key, value })) });
      await kv.commit({ puts: [{ key: globalKey('control-planes', 'cp_1'), value: '{"v":1}' }] });
    });
    await expect(migrateStore(onEtcd('/four/'), onSqlite('four'))).rejects.toThrow('cp_1 runs on');
    await expect(migrateStore(onEtcd('/four/'), onEtcd('/five/'))).rejects.toMatchObject({
      status: STATUS.usage,
    });
    await writeWhole(storePlace(onSqlite('five')), 7, pagesOf(recordsOf(1)));
    await expect(migrateStore(onSqlite('five'), onEtcd('/four/'))).rejects.toMatchObject({
      status: STATUS.notEmpty,
    });
    await expect(migrateStore(onSqlite('nowhere'), onEtcd('/six/'))).rejects.toThrow('there is no store');
  });
});
