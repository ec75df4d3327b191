import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { BOX, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import type { TestNamespace } from '../support/harness/engine-network.ts';
import { Lan } from '../support/harness/lan.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** Who reaches whom on the network of a tenant: two machines with real engines, `db` on the first. */

const ECHO = ['nc', '-ll', '-p', '80', '-e', 'cat'];
/** Bits 12 and 13 of the kernel's capabilities. */
const NET_ADMIN_AND_RAW = 3n << 12n;
/** Changes are on every node within this. */
const APPLIED_MS = 2_000;

let cluster: Cluster;
let shop: Tenant;
let lan: Lan;
let db: { readonly virtual: string; readonly direct: string };

beforeAll(async () => {
  ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2', 'tcpdump']);
  lan = new Lan();
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  const mesh = {
    engine: { ownFilter: true },
    environment: { BERTH_AGENT_MESH: '51820' },
    plug: (namespace: TestNamespace) => void lan.attach(namespace),
  };
  await Promise.all(['n1', 'n2'].map((name) => cluster.node(name, shop, mesh)));
  for (const [name, node] of [
    ['near', 'n1'],
    ['far', 'n2'],
    ['out-1', 'n1'],
    ['out-2', 'n2'],
  ])
    await cluster.deploy(shop, { name, nodeId: node, command: ECHO });
  await cluster.deploy(shop, { name: 'db', nodeId: 'n1', command: ECHO, access: { from: ['near', 'far'] } });
  for (const name of ['near', 'far', 'out-1', 'out-2', 'db']) await cluster.phase(shop, name, 'Running');
  db = await eventually(
    'db has its addresses',
    () => addresses('db'),
    ({ direct, virtual }) => direct !== '' && virtual !== '',
  );
  await reaches('near', db.virtual);
  await reaches('far', db.virtual);
}, 120_000);
afterAll(async () => {
  await cluster.stop();
  lan.remove();
});

async function addresses(name: string): Promise<typeof db> {
  const [{ body: instances }, { body }] = await Promise.all([
    shop.call('GET', `/api/v1/deployments/${name}/instances`),
    shop.call('GET', `/api/v1/deployments/${name}`),
  ]);
  return { direct: String(instances[0]?.address ?? ''), virtual: String(body.status.virtualAddress ?? '') };
}

async function run(name: string, script: string): Promise<string> {
  const { status, body } = await cluster.exec(shop, name, ['sh', '-c', script]);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return String(body.stdout);
}

/** What comes back from the echo, or how it was refused. */
const ask = (name: string, to: string) => run(name, `echo hi | nc -w 2 ${to} 80 2>&1; true`);
const reaches = (name: string, to: string, withinMs?: number) =>
  eventually(
    `${name} reaches ${to}`,
    () => ask(name, to),
    (seen) => seen === 'hi\n',
    withinMs,
  );
const isRefused = (name: string, to: string, withinMs?: number) =>
  eventually(
    `${name} is refused by ${to}`,
    () => ask(name, to),
    (seen) => seen !== 'hi\n',
    withinMs,
  );

const allow = (...from: readonly string[]) => cluster.update(shop, 'db', { access: { from } });
const explained = async (from: string) =>
  (await shop.call('GET', `/api/v1/deployments/db/explain?from=${from}`)).body.access;

describe('access to a deployment', () => {
  attack(
    'a container of the tenant',
    'connects to a deployment that does not name it in access.from, by name, virtual address and address of an instance',
    async () => {
      for (const to of ['db', db.virtual, db.direct]) {
        for (const name of ['near', 'far']) expect(await ask(name, to)).toBe('hi\n');
        for (const name of ['out-1', 'out-2']) {
          const began = performance.now();
          expect(await ask(name, to)).not.toContain('hi');
          // Refused, not left to wait.
          expect(performance.now() - began).toBeLessThan(1_500);
        }
      }
    },
  );

  it('is explained, with the way between the nodes', async () => {
    const seen = await eventually(
      'the way is known',
      () => explained('far'),
      ({ paths }) => paths[0]?.path !== 'none',
    );
    expect(seen).toMatchObject({
      allowed: true,
      rule: 'access.from of db names far',
      paths: [{ from: 'n2', to: 'n1', path: 'direct' }],
    });
    expect(await explained('out-1')).toMatchObject({
      allowed: false,
      rule: 'access.from of db names near, far, not out-1',
      paths: [{ from: 'n1', to: 'n1', path: 'local' }],
    });
  });

  it('changes within two seconds: open connections that stay allowed notice nothing, others are cut', async () => {
    const talk = (name: string) =>
      run(name, `(for i in $(seq 40); do echo $i; sleep 0.1; done) | nc ${db.virtual} 80 2>&1; true`);
    const [kept, cut] = [talk('near'), talk('far')];
    await new Promise((resolve) => setTimeout(resolve, 500));
    await allow('near', 'out-2');
    await Promise.all([
      reaches('out-2', db.virtual, APPLIED_MS),
      isRefused('far', db.virtual, APPLIED_MS),
      isRefused('far', db.direct, APPLIED_MS),
    ]);
    expect((await kept).trim().split('\n')).toHaveLength(40);
    expect((await cut).split('\n').length).toBeLessThan(40);
    const before = (await shop.call('GET', '/api/v1/deployments/db/instances')).body[0];
    await allow();
    await isRefused('near', db.direct, APPLIED_MS);
    await allow('near', 'far');
    const { body: after } = await shop.call('GET', '/api/v1/deployments/db/instances');
    expect(after).toMatchObject([{ id: before.id, startedAt: before.startedAt }]);
  });

  it('lets a job through that starts and connects at once', async () => {
    const job = { kind: 'Job', name: 'dump', image: BOX, nodeId: 'n2', schedule: '0 3 1 1 *' };
    const command = ['sh', '-c', `echo hi | nc -w 5 ${db.virtual} 80 | grep hi`];
    expect((await shop.call('POST', '/api/v1/jobs', { ...job, command })).status).toBe(201);
    await allow('near', 'far', 'dump');
    expect((await shop.call('POST', '/api/v1/jobs/dump/run', {})).status).toBeLessThan(300);
    const ended = await eventually(
      'the run ends',
      async () => (await shop.call('GET', '/api/v1/jobs/dump')).body.status.runs?.at(-1)?.state,
      (state) => ['Succeeded', 'Failed'].includes(String(state)),
    );
    expect(ended).toBe('Succeeded');
  });

  attack('a container of the tenant', 'takes the address of another one that is let through', async () => {
    const { body } = await shop.call('GET', '/api/v1/deployments/near/instances');
    const taken = `ip address add ${body[0].address}/24 dev eth0 2>&1; ip link set eth0 address 02:42:0a:d2:00:63 2>&1; true`;
    const said = await run('out-1', taken);
    expect(said.match(/Operation not permitted/g)).toHaveLength(2);
    const [, held = ''] = (await run('out-1', 'grep CapBnd /proc/self/status')).split(/\s+/);
    expect(BigInt(`0x${held}`) & NET_ADMIN_AND_RAW).toBe(0n);
    expect(await ask('out-1', db.direct)).not.toContain('hi');
  });
});

describe('named networks', () => {
  it('connect their containers by name, and an internal one leads nowhere else', async () => {
    for (const [name, internal] of [
      ['backend', true],
      ['edge', false],
    ])
      expect((await shop.call('POST', '/api/v1/networks', { name, nodeId: 'n1', internal })).status).toBe(
        201,
      );
    await cluster.deploy(shop, { name: 'inside', networks: ['backend'] });
    await cluster.deploy(shop, { name: 'both', networks: ['backend', 'tenant'], command: ECHO });
    await cluster.deploy(shop, { name: 'aside', networks: ['edge'] });
    for (const name of ['inside', 'both', 'aside']) await cluster.phase(shop, name, 'Running');
    await reaches('inside', 'both');
    await reaches('far', 'both');
    const { body } = await shop.call('GET', '/api/v1/deployments/inside');
    expect(body.status.virtualAddress).toBeUndefined();
    const { subnet } = (await shop.call('GET', '/api/v1/nodes/n1')).body.mesh;
    expect(await run('both', 'ip route')).toContain(`default via ${subnet.replace(/0\/24$/, '1')} `);
    for (const to of [lanAddress('n2'), '10.210.0.1', '10.210.1.1', db.virtual])
      expect(await run('inside', `ping -c 1 -W 1 ${to} 2>&1; true`)).not.toContain('1 packets received');
  });

  it("do not lead to the tenant's network by way of the machine", async () => {
    const targets = (await Promise.all([addresses('both'), addresses('far')])).flatMap(
      ({ virtual, direct }) => [virtual, direct],
    );
    const answers = await Promise.all(targets.map((to) => ask('aside', to)));
    expect(answers.filter((answer) => answer.includes('hi'))).toEqual([]);
  });

  attack(
    "a machine beside the tenant's nodes",
    "sends packets for the tenant's network to a node, which routes them",
    async () => {
      const outside = shell((argv) => lan.outside(argv));
      for (const prefix of ['10.210.0.0/16', '10.211.0.0/16'])
        await outside(`ip route add ${prefix} via ${lanAddress('n1')}`);
      // As on a machine whose own firewall lets everything pass.
      await shell(spaceOf('n1').command)('iptables -P FORWARD ACCEPT');
      const targets = (await Promise.all(['db', 'near', 'far'].map(addresses))).flatMap(
        ({ virtual, direct }) => [virtual, direct],
      );
      const answers = await Promise.all(
        targets.map((to) => outside(`echo hi | busybox nc -w 1 ${to} 80 2>&1; true`)),
      );
      expect(answers.filter((answer) => answer.includes('hi'))).toEqual([]);
    },
  );

  attack(
    "a machine beside the tenant's nodes",
    'sends packets with the address of a container of the tenant, by way of a node whose firewall is open',
    async () => {
      const { subnet } = (await shop.call('GET', '/api/v1/nodes/n1')).body.mesh;
      const inSubnet = (last: number): string => subnet.replace(/0\/24$/, String(last));
      const [gateway, liar] = [inSubnet(1), inSubnet(77)];
      const { direct } = await addresses('near');
      const [outside, onNode] = [shell((argv) => lan.outside(argv)), shell(spaceOf('n1').command)];
      const links = (await onNode('ip -o -4 address show')).split('\n');
      const bridge = links.find((line) => line.includes(` ${gateway}/`))?.split(/\s+/)[1];
      await onNode('iptables -P FORWARD ACCEPT');
      const seen = onNode(`timeout 3 tcpdump -lnn -i ${bridge} host ${liar} 2>&1; true`);
      await outside(`ip address add ${liar}/32 dev switch`);
      await outside(`ip route replace ${direct} via ${lanAddress('n1')} src ${liar}`);
      await outside(`sleep 1; echo hi | busybox nc -w 1 ${direct} 80 2>&1; true`);
      expect(await seen).toContain('0 packets captured');
      await onNode('iptables -P FORWARD DROP');
    },
  );

  it('keep what names them on their node, and cannot be deleted under it', async () => {
    const refused = await shop.call('POST', '/api/v1/deployments', {
      name: 'elsewhere',
      image: BOX,
      nodeId: 'n2',
      networks: ['backend'],
    });
    expect([refused.status, refused.body.code]).toEqual([409, 'network_node_mismatch']);
    const kept = await shop.call('DELETE', '/api/v1/networks/backend');
    expect([kept.status, kept.body.code]).toEqual([409, 'network_in_use']);
    const { body } = await shop.call('GET', '/api/v1/deployments/inside/explain');
    expect(body.nodes[1].reasons[0]).toMatchObject({ filter: 'network', code: 'network_on_other_node' });
    await cluster.update(shop, 'inside', { networks: null });
    await eventually(
      'inside is on the tenant’s network',
      () => ask('inside', 'both'),
      (seen) => seen === 'hi\n',
    );
  });
});

/** Runs scripts on a machine. */
const shell =
  (inside: TestNamespace['command']) =>
  async (script: string): Promise<string> => {
    const [command, args] = inside(['sh', '-c', script]);
    return (await promisify(execFile)(command, [...args])).stdout;
  };

function spaceOf(name: string): TestNamespace {
  const namespace = cluster.nodes.find((node) => node.name === name)?.engine.namespace;
  if (namespace === undefined) throw new Error(`no machine ${name}`);
  return namespace;
}

function lanAddress(name: string): string {
  return lan.addressOf(spaceOf(name));
}
