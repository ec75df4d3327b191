import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { always, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { startProbe } from '../support/probe.ts';

let cluster: Cluster;
let shop: Tenant;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  await cluster.node('roll-1', shop);
  await cluster.node('roll-2', shop);
});

afterEach(async () => {
  await cluster.remove(shop, 'web');
});

afterAll(async () => {
  await cluster.stop();
});

/** Serves its version half a second after its start; without one it never does. */
const SERVE =
  'sleep 0.5; mkdir -p /tmp/www; [ -n "$VERSION" ] && echo "$VERSION" > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www';

function web(version: string) {
  return {
    name: 'web',
    replicas: 2,
    command: ['sh', '-c', SERVE],
    environment: { VERSION: version },
    ports: [{ container: 8080 }],
    healthCheck: {
      type: 'exec',
      command: ['wget -qO- http://127.0.0.1:8080/'],
      interval: '400ms',
      retries: 3,
    },
    update: { progressDeadline: '3s', onFailure: 'leave' },
  };
}

async function deployed(change: Readonly<Record<string, unknown>> = {}): Promise<void> {
  await cluster.deploy(shop, { ...web('v1'), ...change });
  await cluster.phase(shop, 'web', 'Running');
}

const hashes = async (): Promise<readonly string[]> =>
  (await cluster.containers('web')).map(({ labels }) => labels['berth.io/spec-hash'] ?? '');

describe('an update', () => {
  it('at exactly the quota stops each old instance before its successor starts, one at a time', async () => {
    const quota = (limits: object) => cluster.plane.admin('PUT', '/api/v1/tenants/shop/quota', limits);
    await deployed();
    const before = new Set(await hashes());
    await quota({ containers: 2 });
    try {
      const { body } = await cluster.update(shop, 'web', { environment: { VERSION: 'v2' } });
      expect(body.warnings).toMatchObject([{ code: 'update_stops_first' }]);
      const seen: number[] = [];
      await eventually(
        'both are new',
        async () => {
          const all = (await cluster.containers('web')).filter(({ status }) => status === 'running');
          seen.push(all.length);
          return all.map(({ labels }) => labels['berth.io/spec-hash'] ?? '');
        },
        (all) => all.length === 2 && all.every((hash) => !before.has(hash)),
      );
      expect(Math.min(...seen)).toBeGreaterThanOrEqual(1);
      expect(Math.max(...seen)).toBe(2);
      await cluster.phase(shop, 'web', 'Running');
    } finally {
      await quota({});
    }
  });

  // Three behind a proxy are replaced under requests by `mesh-updates`.
  it.each(LONG_TIER ? [2, 1] : [1])(
    'replaces %i instances without a moment in which none serves',
    async (replicas) => {
      await deployed({ replicas });
      const before = new Set(await hashes());
      const probe = startProbe(cluster.nodes, 'web');
      await eventually(
        'probes succeed',
        () => cluster.containers('web'),
        (all) => all.length === replicas,
      );
      for (const version of ['v2', 'v3']) {
        const { body } = await cluster.update(shop, 'web', { environment: { VERSION: version } });
        // Counts are of the new spec only, from the first answer on.
        const first = (await shop.call('GET', '/api/v1/deployments/web')).body.status;
        expect(first.phase).toBe('Progressing');
        expect(first.healthy).toBeLessThan(replicas);
        await eventually(`${version} alone is there`, hashes, (seen) => {
          const current = seen.filter((hash) => hash === body.specHash).length;
          // INV-4: never more of the current spec than wanted, and no more than one above in total.
          expect(current).toBeLessThanOrEqual(replicas);
          expect(seen.length).toBeLessThanOrEqual(replicas + 2);
          return current === replicas && seen.length === replicas;
        });
        await cluster.phase(shop, 'web', 'Running');
      }
      const { probes, failures, texts } = await probe.stop();
      expect(failures).toEqual([]);
      expect(probes).toBeGreaterThan(50);
      expect(texts).toEqual(['v1', 'v2', 'v3']);
      expect(await hashes()).not.toContain([...before][0]);
      expect(await cluster.events(shop, 'deployment.rollout_completed', 'web')).not.toEqual([]);
    },
  );

  it('that never becomes healthy leaves the old instances serving, and says which instance and why', async () => {
    await deployed();
    const before = await cluster.pids('web');
    const probe = startProbe(cluster.nodes, 'web');
    await cluster.update(shop, 'web', { environment: {} });
    const { message } = await cluster.status(
      shop,
      'web',
      'failed its rollout',
      (status) => status.phase === 'Degraded' && status.message.includes('the rollout failed'),
    );
    const { body: instances } = await shop.call('GET', '/api/v1/deployments/web/instances');
    const failing = instances.find((one: { id: string }) => before[one.id] === undefined);
    expect(message).toContain(failing.id);
    expect(message).toContain('no progress within 3 s');
    expect(message).toContain('unhealthy');
    expect(message).toContain('2 of 2 instances that are to be replaced still serve');
    await always(
      'the old ones run',
      () => cluster.pids('web'),
      (now) => sameOf(before, now),
      2_000,
    );
    expect((await probe.stop()).failures).toEqual([]);

    // A new wish supersedes the stuck one; the instance of the failed spec goes.
    const { body } = await cluster.update(shop, 'web', { environment: { VERSION: 'v4' } });
    await cluster.phase(shop, 'web', 'Running');
    await eventually(
      'only v4',
      hashes,
      (seen) => seen.length === 2 && seen.every((hash) => hash === body.specHash),
    );
  });

  // In every run by `rollout-reasons`, and what is announced and archived by `test/flow/rollback`.
  it.runIf(LONG_TIER)(
    'that fails is rolled back when its spec asks for that, announced and archived',
    async () => {
      await deployed({ update: { progressDeadline: '3s', onFailure: 'rollback' } });
      const before = await cluster.pids('web');
      const old = (await shop.call('GET', '/api/v1/deployments/web')).body;
      await cluster.update(shop, 'web', { environment: {} });
      const [event] = await eventually(
        'rolled back',
        () => cluster.events(shop, 'deployment.rolled_back', 'web'),
        (events) => events.length > 0,
      );
      expect(event?.message).toContain('failed');
      const [failed] = await cluster.events(shop, 'deployment.rollout_failed', 'web');
      expect(failed?.message).toContain('no progress within 3 s');
      await cluster.phase(shop, 'web', 'Running');
      const now = (await shop.call('GET', '/api/v1/deployments/web')).body;
      expect(now).toMatchObject({ environment: { VERSION: 'v1' }, specHash: old.specHash });
      await eventually(
        'two',
        () => cluster.pids('web'),
        (left) => Object.keys(left).length === 2,
      );
      expect(await cluster.pids('web')).toEqual(before);
      const { body: versions } = await shop.call('GET', '/api/v1/archives/deployments/web');
      expect(versions.map(({ change }: { change: string }) => change).slice(-3)).toEqual([
        'created',
        'updated',
        'rolled-back',
      ]);
    },
  );

  it('that is superseded while it is stuck ends with the newest spec only', async () => {
    await deployed({ update: { progressDeadline: '5m' } });
    const probe = startProbe(cluster.nodes, 'web');
    await cluster.update(shop, 'web', { environment: {} });
    await cluster.status(shop, 'web', 'is stuck', (status) => status.phase === 'Degraded');
    const { body } = await cluster.update(shop, 'web', { environment: { VERSION: 'v5' } });
    await cluster.phase(shop, 'web', 'Running');
    await eventually(
      'only v5',
      hashes,
      (seen) => seen.length === 2 && seen.every((hash) => hash === body.specHash),
    );
    expect((await probe.stop()).failures).toEqual([]);
  });

  it('back to the spec that still serves keeps its containers', async () => {
    await deployed({ update: { progressDeadline: '5m' } });
    const before = await cluster.pids('web');
    await cluster.update(shop, 'web', { environment: {} });
    await cluster.status(shop, 'web', 'is stuck', (status) => status.phase === 'Degraded');
    await cluster.update(shop, 'web', { environment: { VERSION: 'v1' } });
    await cluster.phase(shop, 'web', 'Running');
    await eventually(
      'two',
      () => cluster.pids('web'),
      (now) => Object.keys(now).length === 2,
    );
    expect(await cluster.pids('web')).toEqual(before);
  });
});

function sameOf(before: Readonly<Record<string, number>>, now: Readonly<Record<string, number>>): boolean {
  return Object.entries(before).every(([instance, pid]) => now[instance] === pid);
}
