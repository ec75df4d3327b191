import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AckedRows } from '../support/harness/acked-rows.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { postgresImage } from '../support/harness/postgres-image.ts';

/** A PostgreSQL that is written all the time moves with its volume; every acknowledged row has to be there afterwards. */

const BERTH = join(import.meta.dirname, '../../bin/berth');
const POSTGRES = 'berth.test/postgres:15';
const PASSWORD = 'switchover-0123456789';
const MOVED_MS = 60_000;
const ROUNDS = inTier({ usual: 1, long: 5 });
/** PostgreSQL ends fast at SIGINT; at SIGTERM it waits for its clients. */
const START = 'trap "kill -INT $p" TERM; postgres-start & p=$!; wait $p; wait $p';

let cluster: Cluster;
let shop: Tenant & { readonly token: string };
let id: string;
let rows: AckedRows;

// oxlint-disable-next-line typescript/no-explicit-any
async function volume(): Promise<any> {
  return (await shop.call('GET', `/api/v1/dvm/volumes/${id}`)).body;
}

function nodeOf(name: string): ClusterNode {
  const node = cluster.nodes.find((one) => one.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
}

async function find() {
  for (const node of cluster.nodes) {
    for (const { id: container, status } of await node.containers('pg')) {
      if (status !== 'running') continue;
      const { NetworkSettings } = await node.inspect(container);
      const [network] = Object.values(NetworkSettings.Networks) as { readonly IPAddress: string }[];
      const command = (line: readonly string[]) =>
        node.engine.namespace?.command(line) ?? ([line[0] ?? '', line.slice(1)] as const);
      if (network !== undefined && network.IPAddress !== '') return { address: network.IPAddress, command };
    }
  }
  return undefined;
}

function berth(...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  const target = { BERTH_CLI_SERVER: cluster.plane.url, BERTH_CLI_TOKEN: shop.token };
  // In CI colours are on, whatever output is read by.
  const env = { ...process.env, ...target, NO_COLOR: '1' };
  return new Promise((resolve) => {
    execFile(BERTH, args, { env }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out: stdout + stderr });
    });
  });
}

/** Ready on that node with a live copy on the other, and rows are acknowledged there. */
async function settledOn(name: string): Promise<void> {
  await eventually(
    `it is settled on ${name}`,
    volume,
    ({ primaryNodeId, phase, replicas, switchover }) =>
      primaryNodeId === name &&
      phase === 'Ready' &&
      switchover === undefined &&
      replicas[0]?.state === 'live' &&
      replicas[0]?.formerEpoch === undefined,
    MOVED_MS,
  );
  const before = rows.acked.length;
  await eventually(
    'rows are written',
    async () => rows.acked.length,
    (count) => count > before + 20,
    MOVED_MS,
  );
  await eventually(
    'nothing of it is left elsewhere',
    () => running(),
    (all) => all.join() === name,
    MOVED_MS,
  );
}

async function running(): Promise<readonly string[]> {
  const on = await Promise.all(
    cluster.nodes.map(async (node) => ((await node.containers('pg')).length > 0 ? [node.name] : [])),
  );
  return on.flat();
}

async function nothingLost(what: string): Promise<void> {
  const acked = rows.acked.length;
  expect(await rows.lost(), what).toEqual([]);
  expect(await cluster.events(shop, 'volume.diverged', id)).toEqual([]);
  console.log(
    `${what}: ${acked} rows acknowledged, 0 lost, at most ${Math.round(rows.longestMs)} ms between two`,
  );
  rows.lap();
}

beforeAll(async () => {
  ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount']);
  const { files } = postgresImage();
  const images = {
    [POSTGRES]: { entries: files ?? [], changes: ['USER postgres', 'CMD ["postgres-start"]'] },
  };
  cluster = await startCluster({
    BERTH_DVM_LEASE: '4s',
    BERTH_DVM_LAST_COPY: '10s',
    // A node that is held up is to be waited for, not taken for lost.
    BERTH_TIMERS_FAILED_AFTER: '20s',
    BERTH_TIMERS_REPLACE_AFTER: '40s',
  });
  shop = await cluster.plane.tenant('shop');
  for (const name of ['n1', 'n2']) await cluster.node(name, shop, { images });
  await shop.call('PUT', '/api/v1/secrets/resources/pg', { values: { PASSWORD } });
  const made = await shop.call('POST', '/api/v1/dvm/volumes', {
    name: 'pg-data',
    class: 'replicated',
    type: 'volume',
    sizeBytes: 512 * 2 ** 20,
    nodeId: 'n1',
    replicas: 1,
  });
  id = made.body.id as string;
  await eventually('it is ready', volume, ({ phase }) => phase === 'Ready', MOVED_MS);
  await cluster.deploy(shop, {
    name: 'pg',
    image: POSTGRES,
    command: ['sh', '-c', START],
    environment: { PGDATA: '/data/pg' },
    secrets: [{ name: 'POSTGRES', vault_path: 'resources/pg', anchor: 'external' }],
    volumes: [{ volumeId: id, mountPath: '/data', readOnly: false }],
    healthCheck: { type: 'exec', command: ['pg_isready -q -h 127.0.0.1'], interval: '1s', retries: 3 },
  });
  await cluster.phase(shop, 'pg', 'Running', MOVED_MS);
  rows = new AckedRows(find, PASSWORD);
  await settledOn('n1');
}, 300_000);

afterAll(async () => {
  await rows?.stop();
  await cluster.stop();
});

describe('a planned move of a volume with its writer', () => {
  it.each(Array.from({ length: ROUNDS }, (_one, round) => round))(
    'loses no acknowledged row in a drain that is waited for, and says before what it does (round %i)',
    async () => {
      const preview = await berth('node', 'drain', 'n1', '--dry-run');
      expect([preview.code, preview.out]).toEqual([
        0,
        expect.stringContaining('moves: pg to n2, stops first'),
      ]);
      expect((await volume()).primaryNodeId).toBe('n1');
      rows.lap();
      const drained = await berth('node', 'drain', 'n1', '--wait', '--timeout', '60s');
      expect([drained.code, drained.out]).toEqual([0, expect.stringContaining('nothing is left on it')]);
      await settledOn('n2');
      await nothingLost('drain');
      expect((await volume()).epoch % 2).toBe(0);
      await shop.call('POST', '/api/v1/nodes/n1/uncordon');
      const back = await berth('volume', 'promote', 'pg-data', 'n1');
      expect([back.code, back.out]).toEqual([0, expect.stringContaining('ready, on n1')]);
      await settledOn('n1');
      await nothingLost('promote');
    },
    180_000,
  );

  it.runIf(LONG_TIER)(
    'goes back to the old writer when the last copy cannot be made, and says so',
    async () => {
      const before = (await volume()).epoch;
      process.kill(nodeOf('n2').agent.pid, 'SIGSTOP');
      try {
        const outcome = await berth('volume', 'promote', 'pg-data', 'n2');
        expect([outcome.code, outcome.out]).toEqual([4, expect.stringContaining('stays on n1: ')]);
      } finally {
        process.kill(nodeOf('n2').agent.pid, 'SIGCONT');
      }
      expect((await volume()).epoch).toBe(before);
      await settledOn('n1');
      await nothingLost('given up');
    },
    120_000,
  );

  it.runIf(LONG_TIER)(
    'has one writer, and every row, when the agent or the control plane is killed in the middle',
    async () => {
      const begun = (step: string) =>
        eventually(
          step,
          volume,
          ({ switchover, epoch }) => switchover?.step === step || epoch > before,
          MOVED_MS,
        );
      let before = (await volume()).epoch as number;
      await berth('volume', 'promote', 'pg-data', 'n2', '--no-wait');
      await begun('copying');
      await nodeOf('n1').agent.kill9();
      await nodeOf('n1').agent.start();
      const settled = await eventually(
        'over',
        volume,
        ({ switchover, phase }) => switchover === undefined && phase === 'Ready',
        MOVED_MS,
      );
      await settledOn(settled.primaryNodeId);
      await nothingLost(`agent killed, then on ${settled.primaryNodeId}`);
      const to = settled.primaryNodeId === 'n1' ? 'n2' : 'n1';
      before = settled.epoch;
      await berth('volume', 'promote', 'pg-data', to, '--no-wait');
      await begun('copying');
      await cluster.plane.end('SIGKILL');
      await cluster.plane.start();
      const after = await eventually(
        'over',
        volume,
        ({ switchover, phase }) => switchover === undefined && phase === 'Ready',
        MOVED_MS,
      );
      await settledOn(after.primaryNodeId);
      await nothingLost(`control plane killed, then on ${after.primaryNodeId}`);
    },
    180_000,
  );
});
