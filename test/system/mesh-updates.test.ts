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
  await cluster.node('mesh-2', shop, options);
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
      await pause(3_000);
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
        await pause(3_000);
      }
    });
    expect(load.failures).toEqual([]);
  });
});
