import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { PROMOTED_MS, VolumeStage } from '../support/harness/volume-stage.ts';

/** Far longer than the silence after which instances are replaced elsewhere, and than any lease. */
const PLANE_MS = 40_000;
const LOST_MS = 20_000;
/** Longer than the lease of a volume, and shorter than the silence that fails a node. */
const BRIEFLY_MS = 2_400;
const ROUNDS = 3;

/** Real engines, a control plane alone, a volume that is written all the time. In the long tier: it is time that passes. */
describe.runIf(LONG_TIER)('suspended beside a replicated volume', () => {
  let cluster: Cluster;
  let shop: Tenant;
  let stage: VolumeStage;

  beforeAll(async () => {
    ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount']);
    cluster = await startCluster({ BERTH_DVM_LEASE: '2s' });
    shop = await cluster.plane.tenant('shop');
    for (const name of ['n1', 'n2', 'n3']) await cluster.node(name, shop);
    stage = new VolumeStage(cluster, shop);
  }, 180_000);

  afterAll(async () => {
    await cluster?.stop();
  });

  async function told(...kinds: readonly string[]): Promise<readonly string[]> {
    const all = await Promise.all(kinds.map((kind) => cluster.events(shop, kind)));
    return all.flat().map(({ message }) => message);
  }

  /** Every line that was ever written is there, and newer ones: `least` is more than it had. */
  async function goesOn(node: ClusterNode, id: string, least: number): Promise<void> {
    const lines = await eventually(
      'it is written again',
      () => stage.lines(node, id),
      (all) => all.length > least,
      PROMOTED_MS,
    );
    expect(lines.map(({ number }) => number)).toEqual(lines.map((_line, index) => index + 1));
    const { primaryNodeId, epoch } = await stage.record(id);
    expect([primaryNodeId, epoch]).toEqual([node.name, 1]);
  }

  async function whileStopped(node: ClusterNode, ms: number): Promise<void> {
    const { pid } = node.agent;
    process.kill(pid, 'SIGSTOP');
    try {
      await pause(ms);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }

  it('a control plane fails no node, promotes no copy and starts nothing again', async () => {
    const { id, primary } = await stage.written('slept');
    const node = stage.nodeOf(primary);
    await cluster.deploy(shop, { name: 'web', replicas: 4 });
    await cluster.phase(shop, 'web', 'Running');
    const before = await cluster.pids('web');
    expect(Object.keys(before)).toHaveLength(4);
    const written = stage.lines(node, id).length;
    cluster.plane.pause();
    try {
      await pause(PLANE_MS);
    } finally {
      cluster.plane.resume();
    }
    await goesOn(node, id, written + 400);
    // As long as silence of that time could still count.
    await pause(10_000);
    expect(await cluster.pids('web')).toEqual(before);
    expect(await told('node.failed', 'node.lost', 'volume.promoted')).toEqual([]);
    await cluster.remove(shop, 'web');
    await stage.clean('slept', id);
  }, 240_000);

  it('an agent writes on when it was away for less than fails a node', async () => {
    const { id, primary } = await stage.written('blinked');
    const node = stage.nodeOf(primary);
    for (let round = 0; round < ROUNDS; round += 1) {
      const written = stage.lines(node, id).length;
      await whileStopped(node, BRIEFLY_MS);
      await goesOn(node, id, written + 400);
    }
    expect(await told('volume.promoted')).toEqual([]);
    await stage.clean('blinked', id);
  }, 240_000);

  it.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    'an agent that was given up never writes beside the new one, and comes back (round %i)',
    async (round) => {
      const [name, web] = [`lost-${round}`, `web-${round}`];
      const { id, primary } = await stage.written(name);
      await cluster.deploy(shop, { name: web, replicas: 4 });
      await cluster.phase(shop, web, 'Running');
      const node = stage.nodeOf(primary);
      const stopped = whileStopped(node, LOST_MS);
      const promoted = await stage.promotedFrom(id, primary);
      const after = await stage.linesAfter(promoted, id, 3);
      await stopped;
      const { lost, lostForSeconds, boundSeconds } = await stage.checkReturn(id, node, after);
      process.stdout.write(`${lost} lines of ${lostForSeconds.toFixed(2)} s lost, told ${boundSeconds} s\n`);
      await eventually(
        'its node is ready',
        async () => (await shop.call('GET', `/api/v1/nodes/${primary}`)).body.status,
        (status) => status === 'ready',
      );
      await eventually(
        'exactly four run',
        async () => (await cluster.containers(web)).map(({ status }) => status),
        (all) => all.length === 4 && all.every((status) => status === 'running'),
        PROMOTED_MS,
      );
      await cluster.remove(shop, web);
      await stage.clean(name, id);
    },
    240_000,
  );
});
