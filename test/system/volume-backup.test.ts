import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';

import { AckedRows } from '../support/harness/acked-rows.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { postgresImage } from '../support/harness/postgres-image.ts';
import { freePort } from '../support/harness/free-port.ts';
import { resticFiles } from '../support/harness/restic-image.ts';

/** A PostgreSQL that is written all the time is saved, its machine is lost, and it is restored on another; Debian's restic and PostgreSQL. */

const BERTH = join(import.meta.dirname, '../../bin/berth');
const IMAGE = 'berth.test/postgres-restic:15';
const PASSWORD = 'backup-0123456789';
const STEP_MS = 120_000;
const SMALL = ['--class', 'ephemeral', '--size', '512Mi'];
const RESTORE = ['volume', 'restore-job', 'pg-data-2', '--from', 'pg-data'];
/** PostgreSQL makes a consistent copy of itself in the volume; as in docs/guide/volume-backups.md. */
const COPY = 'rm -rf /data/backup && pg_basebackup -h /tmp -D /data/backup -c fast -X stream';
const CHECK = `chown -R postgres . && chmod 700 .
su postgres -c 'pg_ctl -s -w -D "$PWD" -o "-c listen_addresses= -c unix_socket_directories=/tmp" start'
su postgres -c 'pg_amcheck -h /tmp --all --install-missing --heapallindexed'
su postgres -c 'psql -h /tmp -XAtc "select count(*) from rows"'`;

let cluster: Cluster;
let shop: Tenant & { readonly token: string };
let repository: ChildProcess;
let repo: string;
let rows: AckedRows;
let database = 'pg';
let folder: string;

function berth(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const target = { BERTH_CLI_SERVER: cluster.plane.url, BERTH_CLI_TOKEN: shop.token };
  const env = { ...process.env, ...target, NO_COLOR: '1' };
  return new Promise((resolve) => {
    execFile(BERTH, args, { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: stdout + stderr });
    });
  });
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, out } = await berth(...args);
  const logs = code === 0 ? '' : (await berth('job', 'logs', args.at(-1) ?? '')).out;
  expect(code, `berth ${args.join(' ')}\n${out}\n${logs}`).toBe(0);
  return out;
}

async function find() {
  for (const node of cluster.nodes) {
    for (const { id, status } of await node.containers(database)) {
      if (status !== 'running') continue;
      const { NetworkSettings } = await node.inspect(id);
      const [network] = Object.values(NetworkSettings.Networks) as { readonly IPAddress: string }[];
      const command = (line: readonly string[]) =>
        node.engine.namespace?.command(line) ?? ([line[0] ?? '', line.slice(1)] as const);
      if (network !== undefined && network.IPAddress !== '') return { address: network.IPAddress, command };
    }
  }
  return undefined;
}

async function deployPostgres(name: string, volume: string): Promise<void> {
  await cluster.deploy(shop, {
    name,
    image: IMAGE,
    user: 'postgres',
    command: ['postgres-start'],
    environment: { PGDATA: '/data/pg' },
    secrets: [{ name: 'POSTGRES', vault_path: 'resources/pg', anchor: 'external' }],
    volumes: [{ volume, mountPath: '/data' }],
    healthCheck: { type: 'exec', command: ['pg_isready -q -h 127.0.0.1'], interval: '500ms', retries: 3 },
    stop: { signal: 'SIGINT', grace: '30s' },
  });
  await cluster.phase(shop, name, 'Running', STEP_MS);
}

const restic = () => ['--repo', repo, '--image', IMAGE, '--path', 'backup'];

beforeAll(async () => {
  if (!LONG_TIER) return;
  folder = mkdtempSync(join(tmpdir(), 'berth-restic-'));
  ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount', 'rclone']);
  const port = await freePort('0.0.0.0');
  repository = spawn('/usr/bin/rclone', ['serve', 'restic', '--addr', `0.0.0.0:${port}`, folder], {
    stdio: 'ignore',
  });
  await eventually(
    'the repository answers',
    () =>
      new Promise<boolean>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
        socket.unref();
      }),
    (is) => is,
    STEP_MS,
  );
  const postgres = postgresImage().files ?? [];
  const known = new Set(postgres.map(({ path }) => path));
  const entries = [...postgres, ...resticFiles().filter(({ path }) => !known.has(path))];
  cluster = await startCluster({ BERTH_TIMERS_FAILED_AFTER: '5s', BERTH_TIMERS_REPLACE_AFTER: '10s' });
  shop = await cluster.plane.tenant('shop');
  const images = { [IMAGE]: { entries, changes: ['CMD ["postgres-start"]'] } };
  for (const name of ['n1', 'n2']) await cluster.node(name, shop, { images });
  // That of the machine that stays.
  repo = `rest:http://${cluster.nodes[1]?.engine.namespace?.hostAddress}:${port}/shop/`;
  await shop.call('PUT', '/api/v1/secrets/resources/pg', { values: { PASSWORD } });
  await shop.call('PUT', '/api/v1/secrets/resources/restic', { generate: { keys: ['PASSWORD'] } });
  await done('volume', 'create', 'pg-data', ...SMALL, '--node', 'n1');
  await deployPostgres('pg', 'pg-data');
  rows = new AckedRows(find, PASSWORD);
}, 300_000);

afterAll(async () => {
  if (!LONG_TIER) return;
  await rows?.stop();
  await cluster?.stop('n1');
  if (repository?.exitCode === null) {
    const ended = once(repository, 'exit');
    repository.kill();
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
});

describe.runIf(LONG_TIER)('the bytes of a volume', () => {
  it('are saved under load, restored on another machine, and whole', async () => {
    const sql = `create table big as select g, md5(g::text) as m from generate_series(1, 200000) g; create index on big (m);`;
    expect((await cluster.exec(shop, 'pg', ['psql', '-h', '/tmp', '-c', sql])).body.exitCode).toBe(0);
    const acked = () =>
      eventually(
        'rows',
        async () => rows.acked.length,
        (count) => count > 200,
        STEP_MS,
      );
    await acked();
    await done('volume', 'backup-job', 'pg-data', ...restic(), '--before', 'pg', '--', 'sh', '-c', COPY);
    await done('job', 'run', 'backup-pg-data');
    const saved = [...rows.acked];
    const startedMs = performance.now();
    await done('job', 'run', 'backup-pg-data');
    const backupMs = performance.now() - startedMs;
    console.log((await berth('job', 'logs', 'backup-pg-data')).out);
    const { body: job } = await shop.call('GET', '/api/v1/jobs/backup-pg-data');
    expect(job.status.runs[0]).toMatchObject({
      state: 'Succeeded',
      nodeId: 'n1',
      preparedAt: expect.any(String),
    });

    // A command that fails first fails the run, and nothing is saved.
    await done(
      'volume',
      'backup-job',
      'pg-data',
      ...restic(),
      '--name',
      'broken',
      '--before',
      'pg',
      '--',
      'false',
    );
    const broken = await berth('job', 'run', 'broken');
    expect([broken.code, broken.out]).toEqual([4, expect.stringContaining('ended with exit code 1')]);

    await done('volume', 'drill-job', 'pg-data', ...restic(), '--', 'sh', '-euc', CHECK);
    await done('job', 'run', 'drill-pg-data');
    console.log((await berth('job', 'logs', 'drill-pg-data')).out);

    await rows.stop();
    const [first] = cluster.nodes;
    await first?.agent.kill9();
    await first?.engine.stop();
    cluster.nodes.shift();
    await eventually(
      'n1 is lost',
      () => shop.call('GET', '/api/v1/nodes/n1'),
      ({ body }) => body.status === 'failed',
      STEP_MS,
    );
    const restoreMs = performance.now();
    await done(...RESTORE, ...restic(), ...SMALL, '--as', 'pg');
    // Nothing is restored over what is there.
    await done('job', 'delete', 'restore-pg-data-2', '-y');
    const over = await berth(...RESTORE, ...restic());
    expect(over.code).toBe(4);
    expect((await berth('job', 'logs', 'restore-pg-data-2')).out).toContain('the volume is not empty');
    await done('job', 'delete', 'restore-pg-data-2', '-y');
    database = 'pg-2';
    await deployPostgres('pg-2', 'pg-data-2');
    const restoredMs = performance.now() - restoreMs;
    const check = ['pg_amcheck', '-h', '/tmp', '--all', '--install-missing', '--heapallindexed'];
    expect((await cluster.exec(shop, 'pg-2', check)).body).toMatchObject({ exitCode: 0, stdout: '' });
    const lost = new Set(await rows.lost());
    expect(saved.filter((row) => lost.has(row))).toEqual([]);
    const count = await cluster.exec(shop, 'pg-2', [
      'psql',
      '-h',
      '/tmp',
      '-XAtc',
      'select count(*) from big',
    ]);
    expect(count.body.stdout.trim()).toBe('200000');
    console.log(
      `${saved.length} rows acknowledged before the backup, all there; backup ${Math.round(backupMs)} ms, restored and running after ${Math.round(restoredMs)} ms; ${lost.size} rows came after it`,
    );
  }, 600_000);
});
