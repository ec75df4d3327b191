import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import type { TestNamespace } from '../support/harness/engine-network.ts';
import { Lan } from '../support/harness/lan.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/**
 * Three machines: one that all reach, one behind a router that translates, one whose UDP reaches nobody. Each serves, and asks all
 * three by name and by virtual address, while ways between them go and come back.
 */

const NODES = ['open', 'natted', 'mute'] as const;
type Name = (typeof NODES)[number];
const WEB = 'mkdir -p /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 80 -h /tmp/www';
const REQUESTS = LONG_TIER ? 10_000 : 30;
const REPAIRED_MS = 10_000;

let cluster: Cluster;
let shop: Tenant;
let lan: Lan;
const nodes = new Map<Name, ClusterNode>();

function nodeOf(name: Name): ClusterNode {
  const node = nodes.get(name);
  if (node === undefined) throw new Error(`no ${name}`);
  return node;
}

function spaceOf(name: Name): TestNamespace {
  const { namespace } = nodeOf(name).engine;
  if (namespace === undefined) throw new Error('no namespace');
  return namespace;
}

/** On the machine itself, as root. */
function on(name: Name, ...argv: readonly string[]): string {
  const [command, args] = spaceOf(name).command(argv);
  return execFileSync(command, [...args], { encoding: 'utf8' });
}

function deviceOf(name: Name): string {
  const found = /berth-[0-9a-f]{8}/.exec(on(name, '/usr/sbin/ip', '-o', 'link', 'show'))?.[0];
  if (found === undefined) throw new Error(`${name} has no interface`);
  return found;
}

beforeAll(async () => {
  ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2']);
  lan = new Lan();
  // An agent that is away for some seconds has lost nobody.
  cluster = await startCluster({ BERTH_TIMERS_FAILED_AFTER: '60s' });
  shop = await cluster.plane.tenant('shop');
  const start = async (name: Name, plug: (namespace: TestNamespace) => void): Promise<void> => {
    nodes.set(name, await cluster.node(name, shop, { environment: { BERTH_AGENT_MESH: '51820' }, plug }));
  };
  await start('open', (space) => void lan.attach(space));
  await start('natted', (space) => lan.attachBehindNat(space));
  await start('mute', (space) => {
    lan.attach(space);
    lan.cut(space);
  });
  const spread = { placement: { antiAffinity: ['web'] } };
  await cluster.deploy(shop, { name: 'web', replicas: 3, command: ['sh', '-c', WEB], ...spread });
  for (const name of NODES) await cluster.deploy(shop, { name: `client-${name}`, nodeId: name });
  for (const name of ['web', ...NODES.map((one) => `client-${one}`)])
    await cluster.phase(shop, name, 'Running');
}, 120_000);
afterAll(async () => {
  await cluster.stop();
  lan.remove();
});

async function run(from: Name, script: string): Promise<string> {
  const { status, body } = await cluster.exec(shop, `client-${from}`, ['sh', '-c', script]);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body.stdout ?? body.output ?? '');
}

/** By nc: the static wget of the image does not survive names. */
function get(host: string, path: string): string {
  return `printf 'GET ${path} HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${host} 80`;
}

/** Who answered how often; what is no name of an instance is a wrong answer. */
async function ask(
  from: Name,
  host: string,
  count: number,
  pauseS = 0,
): Promise<ReadonlyMap<string, number>> {
  const once = `${get(host, '/index.html')} | tail -1`;
  const script = `i=0; while [ $i -lt ${count} ]; do a=$(${once}); echo "\${a:-none}"; sleep ${pauseS}; i=$((i+1)); done | sort | uniq -c`;
  const lines = (await run(from, script)).trim().split('\n');
  return new Map(lines.map((line) => [line.trim().split(/ +/)[1] ?? '', Number(line.trim().split(/ +/)[0])]));
}

async function pathTo(node: Name, peer: Name) {
  const { body } = await shop.call('GET', `/api/v1/nodes/${node}`);
  return body.mesh?.peers?.find(({ node: other }: { node: string }) => other === peer);
}

const becomes = (node: Name, peer: Name, path: string, withinMs: number) =>
  eventually(
    `${node} reaches ${peer}: ${path}`,
    () => pathTo(node, peer),
    (seen) => seen?.path === path && seen.carries,
    withinMs,
  );

const reachesAll = (from: Name, withinMs = 30_000) =>
  eventually(
    `${from} reaches all`,
    () => ask(from, 'web', 15),
    (seen) => seen.size === 3 && !seen.has('none'),
    withinMs,
  );

describe('ways between three machines', () => {
  it('are direct where they can be, also out of a NAT, and through the relay else', async () => {
    await becomes('open', 'natted', 'direct', 60_000);
    await becomes('natted', 'open', 'direct', 60_000);
    for (const other of ['open', 'natted'] as const) {
      await becomes('mute', other, 'relay', 30_000);
      await becomes(other, 'mute', 'relay', 30_000);
    }
    const events = await cluster.events(shop, 'node.mesh_relayed', 'mute');
    expect(events.map(({ details }) => details?.['peer']).toSorted()).toEqual(['natted', 'open']);
    for (const name of NODES) await reachesAll(name);
  });

  it('answer every request, by name and by virtual address, from every machine', async () => {
    const { body } = await shop.call('GET', '/api/v1/deployments/web');
    for (const name of NODES)
      for (const host of ['web', body.status.virtualAddress]) {
        const seen = await ask(name, host, REQUESTS);
        expect([name, host, [...seen.keys()].includes('none'), seen.size]).toEqual([name, host, false, 3]);
      }
  });

  it('carry large packets', async () => {
    const sent = 'head -c 300000 /dev/zero | tr "\\0" x > /tmp/www/large';
    for (const instance of (await shop.call('GET', '/api/v1/deployments/web/instances')).body)
      await cluster.exec(shop, 'web', ['sh', '-c', sent], instance.id);
    for (const name of NODES)
      expect(
        await run(name, `for i in 1 2 3 4 5 6; do ${get('web', '/large')} | tail -1 | wc -c; done`),
      ).toBe('300000\n'.repeat(6));
  });
});

describe('what is taken away by hand', () => {
  it.each<[string, () => void, string?]>([
    [
      'the interface',
      () => void on('open', '/usr/sbin/ip', 'link', 'delete', deviceOf('open')),
      'the interface',
    ],
    ['the routes', () => void on('open', '/usr/sbin/ip', 'route', 'flush', 'dev', deviceOf('open'))],
    [
      'the rules',
      () => void on('open', '/usr/sbin/nft', 'delete', 'table', 'ip', 'berth-mesh'),
      'the rules (nftables)',
    ],
    ['a rule', () => void on('open', '/usr/sbin/nft', 'flush', 'chain', 'ip', 'berth-mesh', 'arriving')],
    [
      'a peer',
      () =>
        void on(
          'open',
          'sh',
          '-c',
          `wg set ${deviceOf('open')} peer $(wg show ${deviceOf('open')} peers | head -1) remove`,
        ),
    ],
  ])('%s is back within ten seconds', async (_what, remove, told) => {
    const pids = await cluster.pids();
    remove();
    await reachesAll('open', REPAIRED_MS + 2_000);
    expect(await cluster.pids()).toEqual(pids);
    if (told === undefined) return;
    await eventually(
      'it is told',
      async () => String((await shop.call('GET', '/api/v1/nodes/open')).body.problems),
      (problems) => problems.startsWith(`${told} of the tenant's network had been removed or changed`),
    );
  });
});

describe('an agent', () => {
  it('that is killed and starts again changes nothing', async () => {
    const { agent } = nodeOf('open');
    const before = await shop.call('GET', '/api/v1/nodes/open');
    const silent = () => cluster.events(shop, 'node.mesh_silent', 'natted');
    const told = await silent();
    await agent.kill9();
    await reachesAll('natted');
    // Longer than a way is tried that does not answer: WireGuard needs no agent, and the relay would lead to nobody.
    const seen = await ask('natted', 'web', 12, 1);
    expect([...seen.keys()]).not.toContain('none');
    await agent.start();
    expect(await silent()).toEqual(told);
    const after = await shop.call('GET', '/api/v1/nodes/open');
    expect(after.body.mesh.subnet).toBe(before.body.mesh.subnet);
    await reachesAll('natted');
  });
});
