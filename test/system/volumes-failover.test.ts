import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fence } from '../../src/agent/volumes/fence.ts';
import { readLeases } from '../../src/agent/volumes/lease-file.ts';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { PROMOTED_MS, VolumeStage } from '../support/harness/volume-stage.ts';

const MIB = 2 ** 20;
const ROUNDS = Number(process.env['BERTH_VOLUME_ROUNDS'] ?? inTier({ usual: 1, long: 20 }));
// The programs refuse variables that they do not know.
delete process.env['BERTH_VOLUME_ROUNDS'];

let cluster: Cluster;
let shop: Tenant;
let stage: VolumeStage;

beforeAll(async () => {
  ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount']);
  cluster = await startCluster({ BERTH_DVM_LEASE: '2s' });
  shop = await cluster.plane.tenant('shop');
  for (const name of ['n1', 'n2', 'n3']) await cluster.node(name, shop);
  stage = new VolumeStage(cluster, shop);
});

afterAll(async () => {
  await cluster.stop();
});

describe('a replicated volume', () => {
  it.each(Array.from({ length: ROUNDS }, (_one, round) => round))(
    'follows its copy when the primary dies, and loses no more than it says (round %i)',
    async (round) => {
      const { id, primary } = await stage.written(`dies-${round}`);
      const node = stage.nodeOf(primary);
      await node.engine.kill9();
      await node.agent.kill9();
      const promoted = await stage.promotedFrom(id, primary);
      await cluster.phase(shop, `dies-${round}`, 'Running', PROMOTED_MS);
      const after = await stage.linesAfter(promoted, id, 3);
      await node.engine.start();
      await node.agent.start();
      expect((await stage.checkReturn(id, node, after)).boundSeconds).toBeDefined();
      await stage.clean(`dies-${round}`, id);
    },
    120_000,
  );

  it.each(Array.from({ length: ROUNDS }, (_one, round) => round))(
    'has one writer at any moment when its primary is cut off, and readers where it is (round %i)',
    async (round) => {
      const { id, primary } = await stage.written(`cut-${round}`);
      const node = stage.nodeOf(primary);
      const reader = await stage.reader(`reads-${round}`, id);
      await reader.follows(node);
      node.cut();
      const promoted = await stage.promotedFrom(id, primary);
      await cluster.phase(shop, `cut-${round}`, 'Running', PROMOTED_MS);
      const after = await stage.linesAfter(promoted, id, 3);
      await reader.follows(promoted);
      node.heal();
      expect((await stage.checkReturn(id, node, after)).boundSeconds).toBeDefined();
      await eventually(
        'no reader is left on the old primary',
        () => node.containers(`reads-${round}`),
        (all) => all.length === 0,
        PROMOTED_MS,
      );
      await cluster.remove(shop, `reads-${round}`);
      await stage.clean(`cut-${round}`, id);
    },
    120_000,
  );

  it.runIf(LONG_TIER)(
    'has its copy some seconds behind while much of it is written anew all the time',
    async () => {
      const body = { name: 'anew', class: 'replicated', type: 'volume', sizeBytes: 512 * MIB, replicas: 1 };
      const made = await shop.call('POST', '/api/v1/dvm/volumes', body);
      const id = made.body.id as string;
      await eventually(
        'it is ready',
        () => stage.record(id),
        ({ phase }) => phase === 'Ready',
      );
      const writer =
        'while dd if=/dev/urandom of=/data/new bs=1M count=60 conv=fsync; do mv /data/new /data/large; sleep 1; done';
      const volumes = [{ volumeId: id, mountPath: '/data', readOnly: false }];
      await cluster.deploy(shop, { name: 'anew', command: ['sh', '-c', writer], volumes });
      const copy = async () => (await stage.record(id)).replicas?.[0];
      await eventually('its copy is live', copy, (one) => one?.state === 'live', PROMOTED_MS);
      const seen: { readonly state: string; readonly lagSeconds: number | null }[] = [];
      for (const end = performance.now() + 60_000; performance.now() < end; ) {
        seen.push(await copy());
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      const behind = seen.filter(({ state, lagSeconds }) => state !== 'live' || (lagSeconds ?? 99) > 20);
      expect(behind, JSON.stringify(seen.map(({ lagSeconds }) => lagSeconds))).toEqual([]);
      await cluster.phase(shop, 'anew', 'Running');
      await stage.clean('anew', id);
    },
    180_000,
  );

  it('is mounted and written again when the watchdog ended its writers although its lease went on', async () => {
    const { id, primary } = await stage.written('fenced');
    const node = stage.nodeOf(primary);
    const held = (await readLeases(node.agent.dataDir)).find(({ volumeId }) => volumeId === id);
    if (held === undefined) throw new Error('it has no lease');
    const written = stage.lines(node, id).length;
    // What the watchdog does; the agent hears nothing of it, and is given leases as before.
    await fence(held);
    const lines = await eventually(
      'it is written again',
      () => stage.lines(node, id),
      (all) => all.length > written + 20,
      PROMOTED_MS,
    ).catch(() => {
      throw new Error('it is not written again');
    });
    expect(lines.map(({ number }) => number)).toEqual(lines.map((_line, index) => index + 1));
    const record = await eventually(
      'its copies follow',
      () => stage.record(id),
      ({ replicas }) =>
        replicas.length === 2 &&
        replicas.every((one: { lagSeconds: number | null }) => (one.lagSeconds ?? 99) < 5),
    );
    expect([record.primaryNodeId, record.epoch]).toEqual([primary, 1]);
    expect(record.usedBytes).toBeLessThan(record.sizeBytes);
    await stage.clean('fenced', id);
  }, 120_000);
});
