import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { always, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { startProbe } from '../support/probe.ts';

/** Scaling by real CPU load, and canaries beside real containers. */

let cluster: Cluster;
let shop: Tenant;

beforeAll(async () => {
  cluster = await startCluster({ BERTH_TIMERS_USAGE: '500ms' });
  shop = await cluster.plane.tenant('shop');
  await cluster.node('scale-1', shop);
});

afterAll(async () => {
  await cluster.stop();
});

const pids = (name: string) => cluster.pids(name);
const count = (found: Readonly<Record<string, number>>) => Object.keys(found).length;

describe('a scaling policy', () => {
  it('goes up under real load and down again when it ends, and the instance that stays is not restarted', async () => {
    const loop = 'while :; do if [ -e /tmp/busy ]; then :; else sleep 0.2; fi; done';
    await cluster.deploy(shop, {
      name: 'burn',
      command: ['sh', '-c', loop],
      // A quarter of a core keeps the machine usable; where the engine cannot limit it, the load is only higher.
      resources: { limits: { cpu: 0.25 } },
    });
    await cluster.phase(shop, 'burn', 'Running');
    const before = await pids('burn');
    const policy = { minReplicas: 1, maxReplicas: 2, targetCpuPercent: 40, cooldown: '2s' };
    expect((await shop.call('PUT', '/api/v1/deployments/burn/scaling-policy', policy)).status).toBe(201);
    const view = async () => (await shop.call('GET', '/api/v1/deployments/burn/scaling-policy')).body.status;
    await eventually('an idle measurement', view, (seen) => seen?.measured === 1 && seen.cpuPercent < 40);
    await cluster.exec(shop, 'burn', ['touch', '/tmp/busy']);
    await eventually(
      'two instances',
      () => pids('burn'),
      (now) => count(now) === 2,
    );
    await cluster.phase(shop, 'burn', 'Running');
    const [up] = await cluster.events(shop, 'deployment.scaled', 'burn');
    expect(up?.message).toMatch(
      /^burn scaled from 1 to 2: CPU is \d+ % of 0\.25 cores per instance \(1 of 1 measured\), the target 40 %$/,
    );
    expect(up?.details?.['cpuPercent']).toBeGreaterThan(40);

    const [first = ''] = Object.keys(before);
    await cluster.exec(shop, 'burn', ['rm', '/tmp/busy'], first);
    const after = await eventually(
      'one instance',
      () => pids('burn'),
      (now) => count(now) === 1,
    );
    expect(after).toEqual(before);
    const down = (await cluster.events(shop, 'deployment.scaled', 'burn')).at(-1);
    expect(down?.message).toMatch(/^burn scaled from 2 to 1: CPU is \d+ %/);
    expect(down?.details?.['cpuPercent']).toBeLessThan(40);
    await cluster.remove(shop, 'burn');
  });
});

const SERVE =
  'mkdir -p /tmp/www; [ -n "$VERSION" ] && echo "$VERSION" > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www';
const canary = (body: Readonly<Record<string, unknown>>) =>
  shop.call('POST', '/api/v1/deployments/web/canary', body);
const version = (VERSION: string, replicas = 1) => ({ spec: { environment: { VERSION } }, replicas });

async function containersOf(isCanary: boolean) {
  const all = await cluster.containers('web');
  return all.filter(({ labels }) => (labels['berth.io/canary'] === 'true') === isCanary);
}

/** Addresses behind the name on the tenant's network, as another deployment is told them. */
async function namedAddresses(): Promise<readonly string[]> {
  const { body } = await cluster.exec(shop, 'client', ['nslookup', 'web', '127.0.0.11']);
  const found = new Set(String(body.stdout).match(/\d+\.\d+\.\d+\.\d+/g));
  found.delete('127.0.0.11');
  return [...found].sort();
}

async function served(): Promise<readonly { readonly address: string; readonly text: string }[]> {
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error('no node');
  const containers = await cluster.containers('web');
  return Promise.all(
    containers.map(async ({ id, ports }) => {
      const [port] = ports;
      const answer = await fetch(`http://${node.engine.address}:${port?.host}/`);
      const networks: Record<string, { IPAddress: string }> = (await node.inspect(id)).NetworkSettings
        .Networks;
      const [network] = Object.values(networks);
      return { address: network?.IPAddress ?? '', text: (await answer.text()).trim() };
    }),
  );
}

describe('a canary', () => {
  beforeAll(async () => {
    await cluster.deploy(shop, {
      name: 'web',
      replicas: 2,
      command: ['sh', '-c', SERVE],
      environment: { VERSION: 'v1' },
      ports: [{ container: 8080 }],
      healthCheck: {
        type: 'exec',
        command: ['wget -qO- http://127.0.0.1:8080/'],
        interval: '400ms',
        retries: 3,
      },
    });
    await cluster.phase(shop, 'web', 'Running');
    await cluster.deploy(shop, { name: 'client' });
    await cluster.phase(shop, 'client', 'Running');
  });

  const healthy = (wanted: number) =>
    cluster.status(shop, 'web', 'has a healthy canary', (status) => status.canary?.healthy === wanted);
  const gone = () =>
    eventually(
      'no canary',
      () => containersOf(true),
      (left) => left.length === 0,
    );

  it('gets traffic by the same name, survives a restart of the control plane, and goes when it is aborted', async () => {
    const stable = await pids('web');
    const { body, status } = await canary(version('v2'));
    expect(status).toBe(201);
    await healthy(1);
    const [container] = await containersOf(true);
    expect(container?.labels['berth.io/spec-hash']).toBe(body.specHash);
    const both = await served();
    expect(both.map(({ text }) => text).sort()).toEqual(['v1', 'v1', 'v2']);
    expect(await namedAddresses()).toEqual(both.map(({ address }) => address).sort());
    const together = await pids('web');
    await cluster.plane.end('SIGKILL');
    await cluster.plane.start();
    await healthy(1);
    await always(
      'all of them run on',
      () => pids('web'),
      (now) => JSON.stringify(now) === JSON.stringify(together),
      1_500,
    );
    expect((await shop.call('POST', '/api/v1/deployments/web/canary/abort')).status).toBe(200);
    await gone();
    expect(await pids('web')).toEqual(stable);
  });

  it('is aborted by itself when it is unhealthy, and the stable instances serve on', async () => {
    const stable = await pids('web');
    const probe = startProbe(cluster.nodes, 'web');
    expect((await canary(version('', 2))).status).toBe(201);
    const [event] = await eventually(
      'aborted',
      async () =>
        (await cluster.events(shop, 'deployment.canary_aborted', 'web')).filter(
          ({ details }) => details?.['reason'] === 'unhealthy',
        ),
      (events) => events.length > 0,
    );
    expect(event?.message).toContain('is unhealthy');
    await gone();
    expect(await pids('web')).toEqual(stable);
    expect((await probe.stop()).failures).toEqual([]);
    expect((await shop.call('GET', '/api/v1/deployments/web')).body.status).toMatchObject({
      phase: 'Running',
      healthy: 2,
    });
  });

  it('is promoted without a gap, and its own container stays', async () => {
    const stable = await pids('web');
    const { body } = await canary(version('v3'));
    await healthy(1);
    const own = Object.entries(await pids('web')).filter(([id]) => stable[id] === undefined);
    expect(own).toHaveLength(1);
    const probe = startProbe(cluster.nodes, 'web');
    const promoted = await shop.call('POST', '/api/v1/deployments/web/canary/promote');
    expect(promoted.body).toMatchObject({ specHash: body.specHash, environment: { VERSION: 'v3' } });
    await eventually(
      'v3 alone is there',
      () => cluster.containers('web'),
      (all) => all.length === 2 && all.every(({ labels }) => labels['berth.io/spec-hash'] === body.specHash),
    );
    await cluster.phase(shop, 'web', 'Running');
    expect(Object.entries(await pids('web'))).toEqual(expect.arrayContaining(own));
    expect((await probe.stop()).failures).toEqual([]);
    await cluster.remove(shop, 'web', 'client');
  });
});
