import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, type ClusterNode, eventually, startCluster, type Tenant } from '../support/cluster.ts';
import { inTier } from '../support/fault-tier.ts';
import { ensurePackages } from '../support/packages.ts';

const MIB = 2 ** 20;
const ROUNDS = Number(process.env['BERTH_VOLUME_ROUNDS'] ?? inTier({ usual: 2, long: 20 }));
// The programs refuse variables that they do not know.
delete process.env['BERTH_VOLUME_ROUNDS'];
const PROMOTED_MS = 40_000;

/**
 * Like a database: appends a line and has it on disk before the next. Each line tells its number, when it was written on the
 * clock that all containers of the machine share, and by whom.
 */
const WRITER = [
  'i=$(tail -n 1 /data/log 2>/dev/null | cut -d" " -f1); i=${i:-0}',
  'while :; do',
  '  i=$((i+1)); read up rest < /proc/uptime',
  '  echo "$i $up $HOSTNAME" >> /data/log && sync -d /data/log || exit 1; sleep 0.01',
  'done',
].join('\n');

let cluster: Cluster;
let shop: Tenant;
let nodes: readonly ClusterNode[];

interface Line {
  readonly number: number;
  readonly at: number;
  readonly by: string;
}

beforeAll(async () => {
  ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount']);
  cluster = await startCluster({ BERTH_DVM_LEASE: '2s' });
  shop = await cluster.plane.tenant('shop');
  nodes = [await cluster.node('n1', shop), await cluster.node('n2', shop), await cluster.node('n3', shop)];
});

afterAll(async () => {
  await cluster.stop();
});

describe('a replicated volume', () => {
  it.each(Array.from({ length: ROUNDS }, (_one, round) => round))(
    'follows its copy when the primary dies, and loses no more than it says (round %i)',
    async (round) => {
      const { id, primary } = await written(`dies-${round}`);
      const node = nodeOf(primary);
      await node.engine.kill9();
      await node.agent.kill9();
      const promoted = await promotedFrom(id, primary);
      await cluster.phase(shop, `dies-${round}`, 'Running', PROMOTED_MS);
      const after = await linesAfter(promoted, id, 3);
      await node.engine.start();
      await node.agent.start();
      await checkReturn(id, node, after);
      await clean(`dies-${round}`, id);
    },
    120_000,
  );

  it.each(Array.from({ length: ROUNDS }, (_one, round) => round))(
    'has one writer at any moment when its primary is cut off (round %i)',
    async (round) => {
      const { id, primary } = await written(`cut-${round}`);
      const node = nodeOf(primary);
      node.cut();
      const promoted = await promotedFrom(id, primary);
      await cluster.phase(shop, `cut-${round}`, 'Running', PROMOTED_MS);
      const after = await linesAfter(promoted, id, 3);
      node.heal();
      await checkReturn(id, node, after);
      await clean(`cut-${round}`, id);
    },
    120_000,
  );
});

function nodeOf(name: string): ClusterNode {
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
}

// oxlint-disable-next-line typescript/no-explicit-any
async function volumeRecord(id: string): Promise<any> {
  return (await shop.call('GET', `/api/v1/dvm/volumes/${id}`)).body;
}

/** A volume with two live copies, and a deployment that has been writing it for a while. */
async function written(name: string): Promise<{ readonly id: string; readonly primary: string }> {
  const made = await shop.call('POST', '/api/v1/dvm/volumes', {
    name,
    class: 'replicated',
    type: 'volume',
    sizeBytes: 128 * MIB,
    replicas: 2,
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const id = made.body.id as string;
  await eventually(
    'it is ready',
    () => volumeRecord(id),
    ({ phase }) => phase === 'Ready',
  );
  const volumes = [{ volumeId: id, mountPath: '/data', readOnly: false }];
  await cluster.deploy(shop, { name, command: ['sh', '-c', WRITER], volumes });
  await cluster.phase(shop, name, 'Running');
  const record = await eventually(
    'its copies are live',
    () => volumeRecord(id),
    ({ replicas }) =>
      replicas.length === 2 && replicas.every((one: { state: string }) => one.state === 'live'),
  );
  const primary = record.primaryNodeId as string;
  await eventually(
    'it is written',
    () => lines(nodeOf(primary), id),
    (all) => all.length > 50,
  );
  return { id, primary };
}

async function promotedFrom(id: string, before: string): Promise<ClusterNode> {
  const record = await eventually(
    'a copy is promoted',
    () => volumeRecord(id),
    ({ primaryNodeId }) => primaryNodeId !== before,
    PROMOTED_MS,
  );
  return nodeOf(record.primaryNodeId);
}

function volumeFolder(node: ClusterNode, id: string): string {
  return join(node.agent.dataDir, 'volumes', id, 'mnt');
}

function lines(node: ClusterNode, id: string, epoch = 1): readonly Line[] {
  return linesOf(join(volumeFolder(node, id), `data-${epoch}`, 'log'));
}

function linesOf(path: string): readonly Line[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [number, at, by = ''] = line.split(' ');
      return { number: Number(number), at: Number(at), by };
    });
}

async function linesAfter(node: ClusterNode, id: string, more: number): Promise<readonly Line[]> {
  const before = lines(node, id, 2).length;
  return await eventually(
    'it writes again',
    () => lines(node, id, 2),
    (all) => all.length > before + more,
  );
}

/** The old primary keeps what it wrote alone, becomes a copy again, and wrote nothing after the new one had begun. */
async function checkReturn(id: string, node: ClusterNode, after: readonly Line[]): Promise<void> {
  const writer = after.at(-1)?.by ?? '';
  const taken = after.filter(({ by }) => by === writer);
  const first = taken[0]?.at ?? 0;
  expect(after.map(({ number }) => number)).toEqual(after.map((_line, index) => index + 1));
  const record = await eventually(
    'the old primary is a copy again',
    () => volumeRecord(id),
    ({ replicas }) =>
      replicas.some(
        (one: { nodeId: string; state: string }) => one.nodeId === node.name && one.state === 'live',
      ),
    PROMOTED_MS,
  );
  expect(record.epoch ?? 2).toBe(2);
  const [told] = await cluster.events(shop, 'volume.promoted', id);
  expect(told, 'the promotion is told').toBeDefined();
  const kept = linesOf(join(volumeFolder(node, id), 'diverged-1', 'log'));
  const old = kept.filter(({ by }) => by !== writer);
  const last = old.at(-1)?.at ?? 0;
  // Both on the machine's one clock: what the old one had accepted came before anything that the new one did.
  expect(old.length, 'what the old primary wrote alone is kept').toBeGreaterThan(0);
  expect(last).toBeLessThan(first);
  const copied = after.length - taken.length;
  const lost = old.slice(copied);
  if (lost.length > 0) {
    const lostForS = (lost.at(-1)?.at ?? 0) - (lost[0]?.at ?? 0);
    expect(lostForS).toBeLessThanOrEqual(Number(told?.details?.['lossBoundSeconds']));
    expect(await cluster.events(shop, 'volume.diverged', id)).toHaveLength(1);
  }
}

async function clean(name: string, id: string): Promise<void> {
  await cluster.remove(shop, name);
  await eventually(
    'it may go',
    async () => (await shop.call('DELETE', `/api/v1/dvm/volumes/${id}`)).status,
    (status) => status < 300,
  );
  await eventually(
    'it is gone',
    async () => (await shop.call('GET', `/api/v1/dvm/volumes/${id}`)).status,
    (status) => status === 404,
  );
  for (const node of nodes) expect(existsSync(join(node.agent.dataDir, 'volumes', id))).toBe(false);
}
