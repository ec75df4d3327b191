import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import type { TestNamespace } from '../support/harness/engine-network.ts';
import { Lan } from '../support/harness/lan.ts';
import { textOf, underLoad } from '../support/harness/load.ts';
import { nginxImage } from '../support/harness/nginx-image.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** Stock nginx, which resolves the name of its upstream once, in front of an application on two nodes. */

const NGINX = 'berth.test/nginx:1';
const SITE = `user root; pid /tmp/pid; events {} http { access_log off; upstream app { server app:8000; } server { listen 80; location / { proxy_pass http://app; } } }`;

let cluster: Cluster;
let shop: Tenant;
let one: ClusterNode;
let two: ClusterNode;
let lan: Lan;
let url: string;

const app = (version: string) => ({
  command: ['sh', '-c', `mkdir /www; echo ${version} > /www/index.html; exec httpd -f -p 8000 -h /www`],
  healthCheck: {
    type: 'exec',
    command: ['wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:8000/'],
    interval: '500ms',
    timeout: '10s',
    retries: 3,
  },
});

beforeAll(async () => {
  ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2']);
  lan = new Lan();
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  const options = {
    environment: { BERTH_AGENT_MESH: '51820' },
    plug: (namespace: TestNamespace) => void lan.attach(namespace),
    images: { [NGINX]: { entries: nginxImage().files ?? [] } },
  };
  one = await cluster.node('mesh-1', shop, options);
  two = await cluster.node('mesh-2', shop, options);
  await cluster.deploy(shop, { name: 'app', replicas: 3, ...app('v1') });
  await running(3);
  await cluster.deploy(shop, {
    name: 'proxy',
    image: NGINX,
    nodeId: 'mesh-1',
    command: ['sh', '-c', `echo '${SITE}' > /tmp/nginx.conf; exec nginx -c /tmp/nginx.conf -g 'daemon off;'`],
    ports: [{ container: 80, host: 8080 }],
    dependsOn: { app: 'healthy' },
  });
  await cluster.phase(shop, 'proxy', 'Running');
  url = `http://${one.engine.namespace?.address}:8080/`;
  await eventually(
    'nginx answers',
    () =>
      fetch(url).then(
        ({ status }) => status,
        () => 0,
      ),
    (status) => status === 200,
  );
}, 180_000);
afterAll(async () => {
  await cluster.stop();
  lan.remove();
});

const running = (count: number) =>
  cluster.status(
    shop,
    'app',
    `has ${count}`,
    ({ phase, desired, updated, healthy }) =>
      phase === 'Running' && [desired, updated, healthy].every((seen) => seen === count),
    60_000,
  );

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** By the engine, which needs no control plane. */
function inside(node: ClusterNode, container: string, argv: readonly string[]): string {
  const args = ['-H', `unix://${node.engine.socketPath}`, 'exec', container, ...argv];
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** As seen from the node of nginx. */
async function named(): Promise<readonly string[]> {
  const said = inside(one, 'proxy', ['nslookup', 'instances.app.berth.internal']);
  return [...said.matchAll(/^Address.*?(10\.210\.\d+\.\d+)/gm)].map(([, address = '']) => address);
}

/** How long after the engine knows that an instance is unwell its address is still in the answers on nginx's node. */
async function namedFor(node: ClusterNode): Promise<number> {
  const [unwell] = await node.containers('app');
  const { id = '', networks } = unwell ?? {};
  const address = networks?.[0]?.ip ?? '';
  await eventually('it is named', named, (all) => all.includes(address));
  inside(node, id, ['rm', '/www/index.html']);
  await eventually(
    'the engine knows',
    () => node.docker.inspect(id),
    ({ health }) => health?.status === 'unhealthy',
  );
  const knownMs = performance.now();
  await eventually('it is named no more', named, (all) => !all.includes(address));
  const tookMs = performance.now() - knownMs;
  inside(node, id, ['sh', '-c', 'echo v2 > /www/index.html']);
  await eventually('it is named again', named, (all) => all.includes(address));
  return tookMs;
}

describe('an application behind stock nginx', () => {
  it('is updated without a failed request', async () => {
    const load = await underLoad(url, async () => {
      await cluster.update(shop, 'app', app('v2'));
      await eventually(
        'only v2 answers',
        async () => new Set(await Promise.all(Array.from({ length: 12 }, () => textOf(url)))),
        (texts) => texts.size === 1 && texts.has('v2'),
        60_000,
      );
      // What is to stop does so now.
      await pause(2_500);
    });
    expect(load.failures).toEqual([]);
    expect(load.texts.get('v2')).toBeGreaterThan(10);
  });

  it('is scaled up and down without a failed request', async () => {
    const load = await underLoad(url, async () => {
      for (const replicas of [5, 2]) {
        await cluster.update(shop, 'app', { replicas });
        await cluster.status(shop, 'app', 'is told', ({ desired }) => desired === replicas);
        await running(replicas);
        await pause(2_500);
      }
    });
    expect(load.failures).toEqual([]);
  });

  it('is served while agents and the control plane are away', async () => {
    const load = await underLoad(url, async () => {
      await Promise.all([one.agent.kill9(), two.agent.kill9(), cluster.plane.end('SIGKILL')]);
      await pause(1_000);
      await cluster.plane.start();
      await Promise.all([one.agent.start(), two.agent.start()]);
      await running(2);
      await pause(2_500);
    });
    expect(load.failures).toEqual([]);
  });

  it('loses an instance that is killed for a bounded time', async () => {
    const load = await underLoad(url, async () => {
      const [pid] = Object.values(await two.pids('app'));
      process.kill(pid ?? Number.NaN, 'SIGKILL');
      await pause(3_500);
    });
    // Of connections that were opened before it was known; some wait until the kernel gives up.
    const began = load.failures.map(({ beganMs }) => beganMs);
    expect(Math.max(0, ...began) - Math.min(Infinity, ...began)).toBeLessThan(2_000);
    const after = await underLoad(url, () => pause(500).then(() => undefined));
    expect(after.failures).toEqual([]);
    expect(after.answered).toBeGreaterThan(0);
  });

  it('is in the answers of every node within two seconds of a change of health', async () => {
    await running(2);
    expect(await namedFor(two)).toBeLessThan(2_000);
  });

  it('is judged by its own node while the control plane is away', async () => {
    await cluster.plane.end('SIGKILL');
    expect(await namedFor(one)).toBeLessThan(2_000);
    await cluster.plane.start();
  });

  it('reaches what ran before its node took part, and is reached by it, without making it again', async () => {
    const environment: Record<string, string> = { BERTH_AGENT_MESH: 'off' };
    const three = await cluster.node('mesh-3', shop, {
      environment,
      plug: (namespace) => void lan.attach(namespace),
    });
    const serve = (text: string) => ['sh', '-c', `while :; do echo ${text} | nc -l -p 80; done`];
    for (const name of ['db', 'web'])
      await cluster.deploy(shop, { name, nodeId: 'mesh-3', command: serve(name) });
    for (const name of ['db', 'web']) await cluster.phase(shop, name, 'Running');
    const ask = (node: ClusterNode, from: string, name: string) =>
      eventually(
        `${from} reaches ${name}`,
        async () => inside(node, from, ['sh', '-c', `nc -w 2 ${name} 80 </dev/null || true`]).trim(),
        (text) => text === name,
      );
    await ask(three, 'web', 'db');
    const before = await three.pids();
    environment['BERTH_AGENT_MESH'] = '51820';
    await three.agent.stop();
    await three.agent.start();
    await cluster.deploy(shop, { name: 'api', nodeId: 'mesh-3', command: serve('api') });
    await cluster.phase(shop, 'api', 'Running');
    // Each other, the newer on their node, and both from the newer there and on another node.
    await ask(three, 'web', 'db');
    await ask(three, 'web', 'api');
    await ask(three, 'api', 'db');
    await ask(one, 'proxy', 'db');
    expect(await three.pids()).toMatchObject(before);
  });
});
