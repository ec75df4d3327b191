import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startAgent } from '../support/harness/agent-process.ts';
import { type Cluster, type ClusterNode, startCluster, type Tenant } from '../support/harness/cluster.ts';
import type { TestNamespace } from '../support/harness/engine-network.ts';
import { Lan } from '../support/harness/lan.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** The network of a tenant over two machines, one with Docker and one with Podman: real engines, WireGuard, nftables and names. */

const WEB = ['sh', '-c', 'while :; do hostname | nc -l -p 80; done'];

let cluster: Cluster;
let shop: Tenant;
let one: ClusterNode;
let two: ClusterNode;
let lan: Lan;

beforeAll(async () => {
  ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2']);
  lan = new Lan();
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  const mesh = {
    environment: { BERTH_AGENT_MESH: '51820' },
    plug: (namespace: TestNamespace) => void lan.attach(namespace),
  };
  one = await cluster.node('mesh-1', shop, mesh);
  two = await cluster.node('mesh-2', shop, { ...mesh, podman: true });
}, 120_000);
afterAll(async () => {
  await cluster.stop();
  lan.remove();
});

async function run(name: string, command: readonly string[]): Promise<string> {
  const { status, body } = await cluster.exec(shop, name, command);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body.stdout ?? body.output ?? '');
}

async function answers(from: string, address: string): Promise<ReadonlySet<string>> {
  const script = `for i in 1 2 3 4 5 6 7 8 9 10 11 12; do nc -w 2 ${address} 80 </dev/null; done`;
  return new Set((await run(from, ['sh', '-c', script])).trim().split('\n'));
}

const reachesBoth = (client: string) =>
  eventually(
    `${client} reaches both`,
    () => answers(client, 'web'),
    (seen) => seen.size === 2,
  );

async function pathTo(node: string, peer: string) {
  const { body } = await shop.call('GET', `/api/v1/nodes/${node}`);
  return body.mesh?.peers?.find(({ node: other }: { node: string }) => other === peer);
}

/** Neither directly nor through the relay: the machine lets nothing into its tunnel. */
const SHUT =
  'add table ip shut; add chain ip shut out { type filter hook output priority 0; }; add rule ip shut out oifname "berth-*" drop';

function nft({ engine }: ClusterNode, line: string): void {
  const [command, args] = engine.namespace?.command(['/usr/sbin/nft', line]) ?? ['false', []];
  execFileSync(command, [...args]);
}

const goes = (way: 'direct' | 'relay') =>
  eventually(
    `${way} from one to the other`,
    () => pathTo('mesh-1', 'mesh-2'),
    (peer) => peer?.path === way && peer.carries,
    60_000,
  );

describe('the network of a tenant', () => {
  it('gives every node a subnet and every deployment an address that stays', async () => {
    await cluster.deploy(shop, {
      name: 'web',
      replicas: 2,
      command: WEB,
      placement: { antiAffinity: ['web'] },
    });
    await cluster.phase(shop, 'web', 'Running');
    const subnets = await Promise.all(
      ['mesh-1', 'mesh-2'].map((name) =>
        eventually(
          `${name} has a subnet`,
          () => shop.call('GET', `/api/v1/nodes/${name}`),
          ({ body }) => body.mesh?.subnet !== undefined,
        ),
      ),
    );
    expect(subnets.map(({ body }) => body.mesh.subnet)).toEqual(['10.210.0.0/24', '10.210.1.0/24']);
    const { body } = await shop.call('GET', '/api/v1/deployments/web');
    expect(body.status.virtualAddress).toBe('10.211.0.1');
  });

  it('reaches every instance from every node, by name and by address', async () => {
    for (const node of ['mesh-1', 'mesh-2']) {
      const name = `client-${node}`;
      await cluster.deploy(shop, { name, nodeId: node });
      await cluster.phase(shop, name, 'Running');
      await reachesBoth(name);
    }
    await goes('direct');
  });

  it('goes through the relay while the direct way is cut, and back', async () => {
    const [a, b] = [one.engine.namespace, two.engine.namespace];
    if (a === undefined || b === undefined) throw new Error('no namespaces');
    lan.cut(a, b);
    await goes('relay');
    await reachesBoth('client-mesh-1');
    lan.heal();
    await goes('direct');
    await reachesBoth('client-mesh-2');
  });

  it('opens a gate when the name answers from the node, and says what it waits for', async () => {
    await cluster.deploy(shop, {
      name: 'far',
      nodeId: 'mesh-2',
      healthCheck: { type: 'exec', command: ['test -d /proc'], interval: '1s' },
    });
    await cluster.phase(shop, 'far', 'Running');
    nft(one, SHUT);
    await eventually(
      'nothing is reached',
      () => pathTo('mesh-1', 'mesh-2'),
      (peer) => peer?.carries === false,
    );
    await cluster.deploy(shop, { name: 'near', nodeId: 'mesh-1', dependsOn: { far: 'healthy' } });
    await eventually(
      'near waits',
      () => shop.call('GET', '/api/v1/deployments/near/instances'),
      ({ body }) => body[0]?.reason === 'dependency_unreachable',
    );
    nft(one, 'delete table ip shut');
    await cluster.phase(shop, 'near', 'Running');
  });
});

describe('a machine that cannot take part', () => {
  it.each<[string, string, string | undefined, RegExp]>([
    [
      'whose port is in use',
      '51820',
      undefined,
      /UDP port 51820 or 51821 is in use.*--mesh and another port/,
    ],
    ['without nftables', '52820', '/usr/sbin/nft', /nft is not installed; it is in the package nftables/],
    [
      'without WireGuard',
      '53820',
      '/usr/bin/wireguard-go',
      /wireguard-go is not installed; it is in the package wireguard-go/,
    ],
  ])('%s says so and works on without it; nobody else notices', async (what, port, hidden, problem) => {
    const name = what.toLowerCase().replaceAll(' ', '-');
    const pids = await cluster.pids();
    const { body } = await shop.call('POST', '/api/v1/join-tokens', {});
    const { namespace, socketPath } = one.engine;
    const agent = await startAgent({
      server: `http://${namespace?.hostAddress}:${cluster.plane.port}`,
      name,
      socketPath,
      joinToken: body.token as string,
      environment: { BERTH_AGENT_MESH: port },
      ...(hidden !== undefined && { hidden: [hidden] }),
      ...(namespace && { namespace: namespace.name }),
    });
    try {
      const node = await eventually(
        `${name} is ready and says what it lacks`,
        async () => (await shop.call('GET', `/api/v1/nodes/${name}`)).body,
        ({ status, problems }) => status === 'ready' && problems.some((text: string) => problem.test(text)),
      );
      expect(node.mesh).toBeUndefined();
      await reachesBoth('client-mesh-1');
      expect(await cluster.pids()).toEqual(pids);
    } finally {
      await agent.dispose();
    }
  });
});
