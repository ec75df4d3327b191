import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STATUS } from '../../src/server/recovery/failure.ts';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { globalKey } from '../../src/server/store/keys.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { encodeRecord } from '../../src/server/store/records.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { VERSION } from '../../src/server/version.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { BERTH } from '../support/harness/program.ts';

/** A control plane as it is started, on stores that another release left. */

const FORMAT = globalKey('store-format', 'format');
const folder = mkdtempSync(join(tmpdir(), 'berth-format-'));
let etcd: Etcd;

beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(async () => {
  await etcd?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Place {
  readonly environment: Readonly<Record<string, string>>;
  use<T>(work: (kv: Kv) => Promise<T>): Promise<T>;
}

async function using<T>(kv: Kv, work: (kv: Kv) => Promise<T>): Promise<T> {
  try {
    return await work(kv);
  } finally {
    await kv.close();
  }
}

const PLACES: Readonly<Record<'sqlite' | 'etcd', (name: string) => Place>> = {
  sqlite: (name) => ({
    environment: { BERTH_DATA_DIR: join(folder, name) },
    use: async (work) => await using(await openSqliteKv({ dir: join(folder, name, 'store') }), work),
  }),
  etcd: (name) => ({
    environment: {
      BERTH_DATA_DIR: join(folder, `etcd-${name}`),
      BERTH_STORE_KIND: 'etcd',
      BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(),
      BERTH_STORE_ETCD_PREFIX: `/${name}/`,
    },
    use: async (work) =>
      await using(await openEtcdKv({ endpoints: etcd.endpoints, prefix: `/${name}/` }), work),
  }),
};

function started({ environment }: Place): { readonly status: number | null; readonly err: string } {
  const { status, stderr } = spawnSync(BERTH, ['server', '--listen', '127.0.0.1:0'], {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
    timeout: 60_000,
  });
  return { status, err: stderr };
}

const plant = (kv: Kv, key: string, value: string): Promise<unknown> => kv.commit({ puts: [{ key, value }] });
const whole = async (kv: Kv): Promise<unknown> => (await kv.range('')).entries;

describe.each(['sqlite', 'etcd'] as const)('a store on %s', (kind) => {
  it('of a later release is refused with a status and a sentence, and stays as it is', async () => {
    const place = PLACES[kind]('later');
    const record = { v: 1, format: 3, release: '0.9.0', rewritten: 3 };
    const before = await place.use(async (kv) => {
      await plant(kv, FORMAT, JSON.stringify(record));
      return await whole(kv);
    });
    const { status, err } = started(place);
    expect(err).toBe(
      `berth server: store_format_newer: the store has format 3, written by Berth 0.9.0; this is Berth ${VERSION}, which reads formats 1 to 2. Nothing was changed. Start Berth 0.9.0 or a later release, or restore a backup of before the upgrade (berth server restore).\n`,
    );
    expect(status).toBe(STATUS.newerFormat);
    expect(await place.use(whole)).toEqual(before);
  });
});

describe('a control plane', () => {
  it('does not join one of a release that is more than one away, and names both', async () => {
    const place = PLACES.etcd('far');
    const other = {
      nodeName: 'berlin-1',
      startedAt: '',
      version: '7.0.0',
      url: 'http://x',
      agentUrl: 'http://x',
    };
    await place.use((kv) => plant(kv, globalKey('control-planes', 'cp_1'), encodeRecord(other)));
    const { status, err } = started(place);
    expect(err).toMatch(
      `control_plane_too_far: the control plane on berlin-1 runs Berth 7.0.0, and this is Berth ${VERSION}`,
    );
    expect(status).toBe(STATUS.newerFormat);
  });

  it('does not open a file of another layout', async () => {
    const place = PLACES.sqlite('layout');
    await place.use((kv) => plant(kv, 'h/g/tenants/a', encodeRecord({})));
    const db = new DatabaseSync(join(folder, 'layout/store/berth.db'));
    const row = Object.values(db.prepare('SELECT * FROM meta').get() ?? {})
      .slice(1, -1)
      .map(Number);
    row[0] = 3;
    db.prepare('UPDATE meta SET format = 3, sum = ?').run(crc32(row.join()));
    db.close();
    const { status, err } = started(place);
    expect(err).toMatch(
      /store_format_newer: the store file .*berth\.db has layout 3, and this release reads layout 2/,
    );
    expect(status).toBe(STATUS.newerFormat);
  });
});
