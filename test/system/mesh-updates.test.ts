import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { browserOutside } from '../support/harness/browser.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import type { TestNamespace } from '../support/harness/engine-network.ts';
import { IngressClient, type OpenStream } from '../support/harness/ingress-client.ts';
import { caddyPidIn } from '../support/harness/ingress-stage.ts';
import { Lan } from '../support/harness/lan.ts';
import { type EchoGap, echoGap } from '../support/harness/echo-gap.ts';
import { type Load, textOf, underLoad } from '../support/harness/load.ts';
import { nginxImage } from '../support/harness/nginx-image.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { Pebble, spkiPin } from '../support/harness/pebble.ts';

/**
 * An application on two nodes, asked through stock nginx, which resolves the name of its upstream once, and from outside through the ingress of
 * both nodes, while everything that can change or die does.
 */

const NGINX = 'berth.test/nginx:1';
const PROXY = 'upstream app { server app:8000; } server { listen 80; location / { proxy_pass http://app; } }';
const SAMPLE = 'berth.test/site:1';
const BERTH = join(import.meta.dirname, '../../bin/berth');
const AUTHORITY = '172.30.0.250';
const HOUR_S = 3_600;

let cluster: Cluster;
let shop: Tenant & { readonly token: string };
let one: ClusterNode;
let two: ClusterNode;
let lan: Lan;
let pebble: Pebble;
let root: string;
let url: string;
let clients: readonly IngressClient[];
let asked: Readonly<Record<string, () => Promise<string>>>;
let socket: OpenStream;
const folder = mkdtempSync(join(tmpdir(), 'berth-updates-'));

const nginx = (site: string, before = ':') => {
  const config = `user root; pid /tmp/pid; events {} http { access_log off; ${site} }`;
  return [
    'sh',
    '-c',
    `${before}; echo '${config}' > /tmp/nginx.conf; exec nginx -c /tmp/nginx.conf -g 'daemon off;'`,
  ];
};

/** It keeps connections open, and ends at once when it is told to. */
const app = (version: string) => ({
  image: NGINX,
  command: nginx(
    'server { listen 8000; root /www; error_page 405 =200 /index.html; }',
    `mkdir /www; echo ${version} > /www/index.html`,
  ),
  healthCheck: {
    type: 'exec',
    command: ['wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:8000/'],
    // Each check is a process in the container, which costs its engine more than the application.
    interval: '1s',
    timeout: '10s',
    retries: 3,
  },
});

/** A WebSocket as far as proxies look at it: whatever comes goes back. */
const ECHO = `printf '%s\\n' '#!/bin/sh' 'while read -r line && [ \${#line} -gt 1 ]; do :; done' 'printf "HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n"' 'exec cat' > /tmp/echo; chmod +x /tmp/echo; exec nc -ll -p 8000 -e /tmp/echo`;

const addressOf = ({ engine }: ClusterNode): string => engine.namespace?.address ?? '';

beforeAll(async () => {
  ensurePackages([
    'wireguard-go',
    'wireguard-tools',
    'nftables',
    'iproute2',
    'caddy',
    'curl',
    'chromium-headless-shell',
  ]);
  lan = new Lan();
  const inside = (argv: readonly string[]) => lan.outside(argv);
  lan.outside(['true']);
  pebble = new Pebble({ inside, address: AUTHORITY, hostsAt: '172.30.0.2', validitySeconds: HOUR_S });
  const ca = join(folder, 'authority.pem');
  writeFileSync(ca, pebble.caPem);
  cluster = await startCluster({ BERTH_INGRESS_ACME_DIRECTORY: pebble.directory, BERTH_INGRESS_ACME_CA: ca });
  shop = await cluster.plane.tenant('shop');
  const options = {
    environment: { BERTH_AGENT_MESH: '51820', BERTH_AGENT_INGRESS: 'on' },
    plug: (namespace: TestNamespace) => void lan.attach(namespace),
    images: {
      [NGINX]: { entries: nginxImage().files ?? [] },
      [SAMPLE]: {
        changes: ['CMD ["httpd", "-f", "-h", "/www"]'],
        files: { '/www/index.html': { content: 'new\n' } },
      },
    },
  };
  one = await cluster.node('mesh-1', shop, options);
  two = await cluster.node('mesh-2', shop, options);
  await cluster.deploy(shop, {
    name: 'app',
    replicas: 3,
    ingress: [
      { host: 'plain.example.com', port: 8000, tls: 'off' },
      { host: 'shop.example.com', port: 8000 },
    ],
    ...app('v1'),
  });
  await cluster.deploy(shop, {
    name: 'chat',
    nodeId: 'mesh-1',
    command: ['sh', '-c', ECHO],
    ingress: [{ host: 'chat.example.com', port: 8000, tls: 'off' }],
  });
  await running(3);
  await cluster.deploy(shop, {
    name: 'proxy',
    image: NGINX,
    nodeId: 'mesh-1',
    command: nginx(PROXY),
    ports: [{ container: 80, host: 8080 }],
    dependsOn: { app: 'healthy' },
  });
  await cluster.phase(shop, 'proxy', 'Running');
  url = `http://${addressOf(one)}:8080/`;
  root = await pebble.root();
  writeFileSync(join(folder, 'root.pem'), root);
  const plain = new IngressClient({ address: addressOf(one), host: 'plain.example.com' });
  const secure = new IngressClient({ address: addressOf(two), host: 'shop.example.com', ca: root });
  const chat = new IngressClient({ address: addressOf(one), host: 'chat.example.com' });
  clients = [plain, secure, chat];
  asked = {
    nginx: () => textOf(url),
    'ingress of mesh-1': () => plain.ask(),
    'ingress of mesh-1, POST': () => plain.ask('POST', 'x=1'),
    'ingress of mesh-2, HTTPS': () => secure.ask(),
  };
  for (const [name, ask] of Object.entries(asked)) await answers(name, ask);
  await answers('a WebSocket', async () => (socket = await chat.open()).echo('v1'));
}, 180_000);
afterAll(async () => {
  socket?.close();
  for (const client of clients ?? []) client.close();
  await cluster.stop();
  pebble.stop();
  lan.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** The program, on a machine whose names lead to the second node and that trusts the authority. */
async function berth(...words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const names = join(folder, 'hosts');
  writeFileSync(names, `${addressOf(two)} new.example.com\n`);
  const script = `mount --bind ${names} /etc/hosts && exec "$@"`;
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', BERTH, ...words], {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      NO_COLOR: '1',
      BERTH_CLI_SERVER: cluster.plane.url,
      BERTH_CLI_TOKEN: shop.token,
      NODE_EXTRA_CA_CERTS: join(folder, 'root.pem'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code: code as number, out, err };
}

async function answers(name: string, ask: () => Promise<string>): Promise<void> {
  await eventually(
    `${name} answers`,
    () => ask().catch((error: unknown) => String(error)),
    (heard) => heard === 'v1',
    60_000,
  );
}

/** Why proxies failed: their last words, of each, and whether their nodes were late to know what had left. */
function proxiesSaid(): string {
  const logs = [one, two].map(({ agent }) =>
    readFileSync(join(agent.dataDir, 'ingress/logs/caddy.log'), 'utf8'),
  );
  const late = [one, two].map(({ agent }) =>
    agent
      .log()
      .split('\n')
      .filter((line) => line.includes('came into force late'))
      .join('\n'),
  );
  const said = [docker(one, 'logs', '--tail', '5', 'proxy'), ...logs, ...late];
  return said.flatMap((log) => log.trim().split('\n').slice(-5)).join('\n');
}

/** All of them under load; the figures of every run are told. */
async function loaded(what: string, work: () => Promise<void>): Promise<Load> {
  const load = await underLoad(asked, work);
  process.stdout.write(`${what}: ${load.figures}\n`);
  if (load.failures.length > 0) process.stdout.write(`${proxiesSaid()}\n`);
  return load;
}

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

const insideOf =
  ({ engine: { namespace } }: ClusterNode) =>
  (argv: readonly string[]) => {
    if (namespace === undefined) throw new Error('no namespace');
    return namespace.command(argv);
  };

function onMachine(node: ClusterNode, ...argv: readonly string[]): string {
  const [command, args] = insideOf(node)(argv);
  return execFileSync(command, [...args], { encoding: 'utf8' });
}

/** The address of the machine within the tenant's network. */
function gatewayOf(node: ClusterNode): string {
  const found = /inet (10\.210\.\d+\.1)\//.exec(onMachine(node, '/usr/sbin/ip', '-o', '-4', 'addr', 'show'));
  return found?.[1] ?? '';
}

function ownKey(node: ClusterNode): string {
  const device = /berth-[0-9a-f]{8}/.exec(onMachine(node, '/usr/sbin/ip', '-o', 'link', 'show'))?.[0] ?? '';
  return onMachine(node, '/usr/bin/wg', 'show', device, 'public-key').trim();
}

/** By the engine, which needs no control plane. */
function docker({ engine }: ClusterNode, ...argv: readonly string[]): string {
  const args = ['-H', `unix://${engine.socketPath}`, ...argv];
  return execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

function inside(node: ClusterNode, container: string, argv: readonly string[]): string {
  return docker(node, 'exec', container, ...argv);
}

/** From the first request that failed to the last. */
function spanMs({ failures }: Load): number {
  const began = failures.map(({ beganMs }) => beganMs);
  return failures.length === 0 ? 0 : Math.max(...began) - Math.min(...began);
}

async function unharmed(): Promise<void> {
  const after = await underLoad(asked, () => pause(500).then(() => undefined));
  expect(after.failures).toEqual([]);
  expect(after.answered).toBeGreaterThan(0);
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

/** What events of these kinds say of it. */
async function told(name: string, ...kinds: readonly string[]): Promise<readonly string[]> {
  const { body } = await shop.call('GET', `/api/v1/events?subject=${name}&limit=1000`);
  const events = body as readonly { readonly kind: string; readonly message: string }[];
  return events.flatMap(({ kind, message }) => (kinds.includes(kind) ? `${kind}: ${message}` : []));
}

/** Until only this version answers, through all of them; then until what is to stop has stopped. */
async function only(version: string): Promise<void> {
  await eventually(
    `only ${version} answers`,
    async () =>
      new Set(
        await Promise.all(
          Array.from({ length: 8 }, () => Object.values(asked).map((ask) => ask().catch(String))).flat(),
        ),
      ),
    (texts) => texts.size === 1 && texts.has(version),
    60_000,
  );
  await pause(2_500);
}

describe('an application behind stock nginx and behind the ingress', () => {
  it('is updated without a failed request', async () => {
    const load = await loaded('rolling update', async () => {
      await cluster.update(shop, 'app', app('v2'));
      await only('v2');
    });
    expect(load.failures).toEqual([]);
    expect(load.texts.get('v2')).toBeGreaterThan(10);
  });

  it.runIf(LONG_TIER)('has a canary that is promoted, without a failed request', async () => {
    const load = await loaded('canary', async () => {
      const { command } = app('v3');
      await shop.call('POST', '/api/v1/deployments/app/canary', { spec: { command }, weight: 30 });
      await cluster.status(shop, 'app', 'has a canary', ({ canary }) => canary?.healthy === 1);
      await shop.call('POST', '/api/v1/deployments/app/canary/promote');
      await only('v3');
    });
    expect(load.failures).toEqual([]);
  });

  // Up again in every run below, when a node has been drained.
  it('is scaled up and down without a failed request', async () => {
    const load = await loaded('scaling', async () => {
      for (const replicas of LONG_TIER ? [5, 2] : [2]) {
        await cluster.update(shop, 'app', { replicas });
        await cluster.status(shop, 'app', 'is told', ({ desired }) => desired === replicas);
        await running(replicas);
        await pause(2_500);
      }
    });
    expect(load.failures).toEqual([]);
  });

  it('leaves a node that is drained without a failed request', async () => {
    const load = await loaded('drain', async () => {
      await shop.call('POST', '/api/v1/nodes/mesh-2/drain');
      await eventually(
        'nothing is left there',
        () => two.pids('app'),
        (pids) => Object.keys(pids).length === 0,
        60_000,
      );
      await running(2);
      await shop.call('POST', '/api/v1/nodes/mesh-2/uncordon');
      await cluster.update(shop, 'app', { replicas: 4 });
      await running(4);
      await pause(1_000);
    });
    expect(load.failures).toEqual([]);
  });

  it.runIf(LONG_TIER)('is served while each of them is killed and starts again', async () => {
    for (const { name, agent } of [one, two]) {
      const load = await loaded(`agent of ${name} killed`, async () => {
        await agent.kill9();
        await pause(1_000);
        await agent.start();
        await pause(2_500);
      });
      expect(load.failures).toEqual([]);
    }
    const load = await loaded('control plane killed', async () => {
      await cluster.plane.end('SIGKILL');
      await pause(1_000);
      await cluster.plane.start();
      await running(4);
      await pause(2_500);
    });
    expect(load.failures).toEqual([]);
  });

  it('is served while its nodes take other keys at once, and datagrams are lost for a moment at most', async () => {
    const keys = () =>
      Promise.all(
        ['mesh-1', 'mesh-2'].map(
          async (name) => (await shop.call('GET', `/api/v1/nodes/${name}`)).body.mesh.publicKey as string,
        ),
      );
    const before = await keys();
    let gap: EchoGap | undefined;
    const rotate = async () => {
      const answers = await Promise.all(
        ['mesh-1', 'mesh-2'].map((name) => shop.call('POST', `/api/v1/nodes/${name}/rotate-key`)),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      const next = answers.map(({ body }) => body.publicKey);
      await eventually(
        'both use their next keys',
        () => [one, two].map(ownKey),
        (used) => used.every((key, at) => key === next[at] && key !== before[at]),
      );
      await pause(1_500);
    };
    const load = await loaded('keys renewed', async () => {
      gap = await echoGap(insideOf(one), insideOf(two), gatewayOf(two), rotate);
    });
    process.stdout.write(`keys renewed: ${JSON.stringify(gap)}\n`);
    expect(load.failures).toEqual([]);
    expect(gap?.longestMs).toBeLessThan(2_000);
  });

  it.runIf(LONG_TIER)('is reached again by a node whose agent was away when another took a key', async () => {
    const rotate = (name: string) => shop.call('POST', `/api/v1/nodes/${name}/rotate-key`);
    await two.agent.kill9();
    const refused = await eventually(
      'the agent is known to be away',
      () => rotate('mesh-2'),
      ({ status }) => status === 503,
    );
    expect(refused.body.code).toBe('agent_unreachable');
    const { publicKey } = (await rotate('mesh-1')).body;
    await eventually(
      'the key is in use',
      () => ownKey(one),
      (key) => key === publicKey,
    );
    await two.agent.start();
    const startedMs = performance.now();
    await echoGap(insideOf(one), insideOf(two), gatewayOf(two), async () => undefined);
    const tookMs = Math.round(performance.now() - startedMs - 1_000);
    process.stdout.write(`reached again ${tookMs} ms after the agent came back\n`);
    expect(tookMs).toBeLessThan(10_000);
  });

  it('is served while agents and the control plane are away', async () => {
    const load = await loaded('agents and control plane killed', async () => {
      await Promise.all([one.agent.kill9(), two.agent.kill9(), cluster.plane.end('SIGKILL')]);
      await pause(1_000);
      await cluster.plane.start();
      await Promise.all([one.agent.start(), two.agent.start()]);
      await running(4);
      await pause(2_500);
    });
    expect(load.failures).toEqual([]);
  });

  it.runIf(LONG_TIER)('is counted in metrics, as often as it was asked through the ingress', async () => {
    const counted = async () => {
      const text = String((await cluster.plane.admin('GET', '/metrics')).body);
      const found = /^berth_ingress_requests_total\{tenant="shop",deployment="app",code="2xx"\} (\d+)$/m.exec(
        text,
      );
      return Number(found?.[1] ?? 0);
    };
    // What was asked before is counted by then: the log is read every two seconds, and told with the next heartbeat.
    let before = -1;
    await eventually(
      'nothing more is counted',
      async () => {
        const last = before;
        await pause(4_000);
        before = await counted();
        return before === last;
      },
      (settled) => settled,
      40_000,
    );
    const through = Object.entries(asked).filter(([name]) => name.startsWith('ingress'));
    for (const [, ask] of through) for (let at = 0; at < 20; at += 1) await ask();
    await eventually('as many as were asked', counted, (now) => now - before === through.length * 20, 20_000);
  });

  it.runIf(LONG_TIER)('loses an instance that is killed for a bounded time', async () => {
    const load = await loaded('instance killed', async () => {
      const [id = ''] = (await two.containers('app')).map((container) => container.id);
      docker(two, 'kill', id);
      await pause(3_500);
    });
    // Of connections that were opened before it was known; some wait until the kernel gives up.
    expect(spanMs(load)).toBeLessThan(2_000);
    await unharmed();
    expect((await told('app', 'deployment.degraded')).at(-1)).toContain('ended with exit code 137');
  });

  it('loses the Caddy of a node for a bounded time', async () => {
    const load = await loaded('Caddy killed', async () => {
      process.kill(caddyPidIn(two.engine.namespace?.name ?? ''), 'SIGKILL');
      await pause(4_000);
    });
    expect(new Set(load.failures.map((failed) => failed.asked))).toEqual(
      new Set(['ingress of mesh-2, HTTPS']),
    );
    expect(spanMs(load)).toBeLessThan(3_000);
    await unharmed();
    expect((await told('app', 'ingress.failed', 'ingress.serving')).slice(-4)).toEqual([
      'ingress.failed: mesh-2 does not serve plain.example.com for app: Caddy has ended and is started again',
      'ingress.failed: mesh-2 does not serve shop.example.com for app: Caddy has ended and is started again',
      'ingress.serving: mesh-2 serves plain.example.com for app',
      'ingress.serving: mesh-2 serves shop.example.com for app',
    ]);
  });

  // In every run by `test/system/ingress`.
  it.runIf(LONG_TIER)('opens in a browser that trusts the authority alone', async () => {
    const place = { host: 'shop.example.com', address: lan.addressOf(two.engine.namespace as TestNamespace) };
    const pin = spkiPin(await pebble.intermediate());
    const browser = await browserOutside(lan, folder, { ...place, pin });
    try {
      const page = await browser.newPage();
      const answer = await page.goto('http://shop.example.com/');
      expect(page.url()).toBe('https://shop.example.com/');
      expect(await answer?.text()).toMatch(/^v[23]\n$/);
    } finally {
      await browser.close();
    }
  });

  it('has kept a WebSocket of another deployment open through all of it', async () => {
    expect(await socket.echo('still here')).toBe('still here');
  });

  it('is deployed with a host in one line, which ends in an address that was asked', async () => {
    const made = await berth('run', '--host', 'new.example.com', '--image', SAMPLE, '--name', 'new');
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^https:\/\/new\.example\.com\/$/m) });
    expect(made.err).toContain('answers with 200');
    const taken = await berth('run', '--host', 'shop.example.com', '--image', SAMPLE, '--name', 'other');
    expect(taken).toMatchObject({ code: 1, out: '' });
    expect(taken.err).toContain('refused: ingress_host_taken');
    expect(taken.err).toContain('app has it');
  });

  it('is in the answers of every node within two seconds of a change of health', async () => {
    await running(4);
    expect(await namedFor(two)).toBeLessThan(2_000);
  });

  it('is judged by its own node while the control plane is away', async () => {
    await cluster.plane.end('SIGKILL');
    expect(await namedFor(one)).toBeLessThan(2_000);
    await cluster.plane.start();
  });

  it.runIf(LONG_TIER)(
    'reaches what ran before its node took part, and is reached by it, without making it again',
    async () => {
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
    },
  );
});
