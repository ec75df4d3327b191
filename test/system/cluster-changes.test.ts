import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  always,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';

let cluster: Cluster;
let shop: Tenant;
let first: ClusterNode;
let second: ClusterNode;

beforeAll(async () => {
  // Longer than a busy engine takes to tell that a container ended at once: what has ended has not settled.
  cluster = await startCluster({ BERTH_TIMERS_SETTLE: '2s' });
  shop = await cluster.plane.tenant('shop');
  first = await cluster.node('change-1', shop);
  second = await cluster.node('change-2', shop);
});

afterEach(async () => {
  await cluster.remove(shop, 'web');
});

afterAll(async () => {
  await cluster.stop();
});

const CHECK = { type: 'exec', command: ['test -n "$GOOD"'], interval: '400ms', retries: 3 };

async function deployed(spec: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, number>>> {
  await cluster.deploy(shop, { name: 'web', ...spec });
  await cluster.phase(shop, 'web', 'Running');
  return cluster.pids('web');
}

const gone = (node: ClusterNode, withinMs: number) =>
  eventually(
    'none is left',
    () => node.containers('web'),
    (left) => left.length === 0,
    withinMs,
  );

const hashes = async (): Promise<readonly (string | undefined)[]> =>
  (await cluster.containers('web')).map(({ labels }) => labels['berth.io/spec-hash']);

describe('what was asked for while a machine was away holds when it is back (INV-8)', () => {
  it('a deletion', async () => {
    await deployed({ replicas: 2 });
    first.cut();
    await shop.call('DELETE', '/api/v1/deployments/web');
    await gone(second, 15_000);
    expect(await first.containers('web')).toHaveLength(1);
    first.heal();
    await gone(first, 15_000);
    expect((await shop.call('GET', '/api/v1/deployments/web')).status).toBe(404);
  });

  it('a deletion and a new deployment of the same name', async () => {
    const before = await deployed({ replicas: 2 });
    first.cut();
    await shop.call('DELETE', '/api/v1/deployments/web');
    await cluster.deploy(shop, { name: 'web', replicas: 2, environment: { NEW: '1' }, nodeId: 'change-2' });
    await cluster.phase(shop, 'web', 'Running');
    first.heal();
    await gone(first, 15_000);
    const after = await cluster.pids('web');
    expect(Object.keys(after)).toHaveLength(2);
    expect(Object.keys(after).filter((id) => before[id] !== undefined)).toEqual([]);
  });

  it('an update, told to an agent that was killed', async () => {
    await deployed({ replicas: 2, healthCheck: CHECK, environment: { GOOD: '1' } });
    await first.agent.kill9();
    const { body } = await cluster.update(shop, 'web', { environment: { GOOD: '2' } });
    await first.agent.start();
    await eventually(
      'only the new spec',
      hashes,
      (seen) => seen.length === 2 && seen.every((hash) => hash === body.specHash),
    );
    await cluster.phase(shop, 'web', 'Running');
  });
});

describe('a rollout', () => {
  it('goes on after the control plane was killed in its midst', async () => {
    await deployed({ replicas: 3, healthCheck: CHECK, environment: { GOOD: '1' } });
    const { body } = await cluster.update(shop, 'web', { environment: { GOOD: '2' } });
    await eventually('it has begun', hashes, (seen) => seen.includes(body.specHash));
    await cluster.plane.end('SIGKILL');
    await cluster.plane.start();
    await eventually(
      'only the new spec',
      hashes,
      (seen) => seen.length === 3 && seen.every((hash) => hash === body.specHash),
    );
    await cluster.phase(shop, 'web', 'Running');
  });

  it('to a spec that crashes, without a health check, keeps the old instances (F-23)', async () => {
    const before = await deployed({ replicas: 2 });
    await cluster.update(shop, 'web', { command: ['sh', '-c', 'exit 3'] });
    const { message } = await cluster.status(
      shop,
      'web',
      'tells the crash loop',
      (status) => status.phase === 'Degraded' && status.message.includes('again and again'),
    );
    expect(message).toContain('2 of 2 instances that are to be replaced still serve');
    await always(
      'the old ones run',
      () => cluster.pids('web'),
      (now) => Object.entries(before).every(([id, pid]) => now[id] === pid),
      2_000,
    );
    await cluster.update(shop, 'web', { replicas: 0 });
    await cluster.phase(shop, 'web', 'Stopped');
    expect(await cluster.containers('web')).toEqual([]);
  });

  it('of what only one can have on a node makes room for itself', async () => {
    await deployed({
      nodeId: 'change-1',
      ports: [{ container: 8080, host: 18080 }],
      healthCheck: CHECK,
      environment: { GOOD: '1' },
    });
    const { body } = await cluster.update(shop, 'web', { environment: { GOOD: '2' } });
    await eventually('the new one', hashes, (seen) => seen.length === 1 && seen[0] === body.specHash);
    await cluster.phase(shop, 'web', 'Running');
    const [container] = await first.containers('web');
    expect(container?.ports.map(({ host }) => host)).toContain(18_080);
  });

  it('moves between nodes without a moment in which none runs', async () => {
    await deployed({ nodeId: 'change-1', healthCheck: CHECK, environment: { GOOD: '1' } });
    let lowest = Number.POSITIVE_INFINITY;
    await cluster.update(shop, 'web', { nodeId: 'change-2' });
    await eventually(
      'moved',
      async () => {
        const there = Object.keys(await second.pids('web')).length;
        const here = Object.keys(await first.pids('web')).length;
        lowest = Math.min(lowest, here + there);
        return { here, there };
      },
      ({ here, there }) => here === 0 && there === 1,
    );
    expect(lowest).toBeGreaterThan(0);
    await gone(first, 15_000);
  });
});
