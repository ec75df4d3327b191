import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';

let cluster: Cluster;
let shop: Tenant;
let first: ClusterNode;
let second: ClusterNode;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  first = await cluster.node('silent-1', shop);
  second = await cluster.node('silent-2', shop);
});

afterEach(async () => {
  await cluster.remove(shop, 'web');
});

afterAll(async () => {
  await cluster.stop();
});

const count = (pids: Readonly<Record<string, number>>): number => Object.keys(pids).length;

describe('a cut in one direction only (F-10)', () => {
  it.each(['to-plane', 'from-plane'] as const)(
    '%s is noticed, replaced and healed to exactly N',
    async (way) => {
      await cluster.deploy(shop, { name: 'web', replicas: 2 });
      await cluster.phase(shop, 'web', 'Running');
      first.cut(way);
      try {
        await eventually(
          'replaced',
          () => second.pids('web'),
          (pids) => count(pids) === 2,
          20_000,
        );
        // A wish of the time of the cut: the machine must not carry out an older one when it is back.
        await cluster.update(shop, 'web', { replicas: 1 });
        await eventually(
          'one',
          () => second.pids('web'),
          (pids) => count(pids) === 1,
        );
      } finally {
        first.heal(way);
      }
      await eventually(
        'none on the first',
        () => first.containers('web'),
        (left) => left.length === 0,
        20_000,
      );
      expect(count(await second.pids('web'))).toBe(1);
      await cluster.phase(shop, 'web', 'Running');
    },
  );
});

/** In every run by `agent-faults`, under an agent alone. */
describe.runIf(LONG_TIER)('an engine that hangs (F-07)', () => {
  it('is told; nothing is made twice when it goes on', async () => {
    await cluster.deploy(shop, { name: 'web', replicas: 2, nodeId: 'silent-1' });
    await cluster.phase(shop, 'web', 'Running');
    const before = await cluster.pids('web');
    first.engine.pause();
    try {
      await cluster.update(shop, 'web', { replicas: 4 });
      await eventually(
        'the engine is told to hang',
        () => cluster.events(shop, 'node.engine_failed', 'silent-1'),
        (events) => events.length > 0,
        45_000,
      );
    } finally {
      first.engine.resume();
    }
    await cluster.status(shop, 'web', 'runs four times', ({ running }) => running === 4, 45_000);
    await eventually(
      'four containers',
      () => first.containers('web'),
      (all) => all.length === 4,
    );
    expect(await first.pids('web')).toMatchObject(before);
    expect(await cluster.events(shop, 'node.engine_recovered', 'silent-1')).toHaveLength(1);
  });
});
