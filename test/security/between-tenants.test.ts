import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import type { TestNamespace } from '../support/harness/engine-network.ts';
import { Lan } from '../support/harness/lan.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/**
 * Two tenants whose machines are on one network: `shop` has two, `bank` one that it rules wholly. Whatever `bank` sends has a port
 * of its own and is looked for at the interfaces of `shop`: the tunnel's, and the bridge of its containers.
 */

/** Nobody listens: what arrives is seen, and answered by nobody. */
const PORT = 9_999;
const ETHERNET_IP_UDP = 42;

let cluster: Cluster;
let shop: Tenant;
let bank: Tenant;
let lan: Lan;
let flow: NodeFlow;
const folder = mkdtempSync(join(tmpdir(), 'berth-between-'));

beforeAll(async () => {
  ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2', 'tcpdump']);
  lan = new Lan();
  cluster = await startCluster();
  [shop, bank] = [await cluster.plane.tenant('shop'), await cluster.plane.tenant('bank')];
  flow = new NodeFlow(cluster.plane);
  const mesh = {
    engine: { ownFilter: true },
    environment: { BERTH_AGENT_MESH: '51820' },
    plug: (namespace: TestNamespace) => void lan.attach(namespace),
  };
  // Subnets are given in this order: that of `s2` is the second of its tenant.
  await Promise.all([cluster.node('s1', shop, mesh), cluster.node('thief', bank, mesh)]);
  await cluster.node('s2', shop, mesh);
  await cluster.deploy(shop, { name: 'near', nodeId: 's1' });
  await cluster.deploy(shop, { name: 'far', nodeId: 's2' });
  await cluster.deploy(bank, { name: 'spy' });
  for (const [tenant, name] of [
    [shop, 'near'],
    [shop, 'far'],
    [bank, 'spy'],
  ] as const)
    await cluster.phase(tenant, name, 'Running');
  await reachDirectly();
  // The firewall of the machine keeps nobody out.
  await on('s2', 'iptables -P FORWARD ACCEPT');
}, 120_000);
afterAll(async () => {
  flow.close();
  await cluster.stop();
  lan.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** A machine that is busy for some seconds goes through the relay meanwhile. */
async function reachDirectly(): Promise<void> {
  for (const name of ['s1', 's2'])
    await eventually(
      `${name} reaches the other machine of the shop`,
      () => shop.call('GET', `/api/v1/nodes/${name}`),
      ({ body }) => body.mesh?.peers?.[0]?.carries === true && body.mesh.peers[0].path === 'direct',
      60_000,
    );
}

function spaceOf(name: string): TestNamespace {
  const namespace = cluster.nodes.find((node) => node.name === name)?.engine.namespace;
  if (namespace === undefined) throw new Error(`no machine ${name}`);
  return namespace;
}

/** On the machine itself, as root. */
async function on(name: string, script: string): Promise<string> {
  const [command, args] = spaceOf(name).command(['sh', '-c', script]);
  return (await promisify(execFile)(command, [...args])).stdout;
}

async function deviceOf(name: string): Promise<string> {
  const [device = ''] = /berth-[0-9a-f]{8}/.exec(await on(name, 'ip -o link show')) ?? [];
  return device;
}

const gateway = (subnet: string): string => subnet.replace(/0\/24$/, '1');

async function bridgeOf(tenant: Tenant, name: string): Promise<string> {
  const { subnet } = (await tenant.call('GET', `/api/v1/nodes/${name}`)).body.mesh;
  const lines = (await on(name, 'ip -o -4 address show')).split('\n');
  return lines.find((line) => line.includes(` ${gateway(subnet)}/`))?.split(/\s+/)[1] ?? '';
}

const addressOf = (tenant: Tenant, name: string): Promise<string> =>
  eventually(
    `${name} has an address`,
    async () =>
      String((await tenant.call('GET', `/api/v1/deployments/${name}/instances`)).body[0]?.address ?? ''),
    (address) => address !== '',
  );

/** Tries to connect; what becomes of it is seen elsewhere. */
async function knock(tenant: Tenant, from: string, to: string): Promise<void> {
  await cluster.exec(tenant, from, ['sh', '-c', `nc -w 1 ${to} ${PORT} </dev/null; true`]);
}

/** Of the shop itself, which is seen: three times, since a single packet may be lost while its way changes. */
async function knockThrice(to: string): Promise<void> {
  await reachDirectly();
  for (let times = 0; times < 3; times += 1) await knock(shop, 'near', to);
}

/** A capture that has begun. */
function listening({ stderr }: ChildProcessWithoutNullStreams): Promise<void> {
  let said = '';
  return new Promise((resolve) => {
    stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('listening on')) resolve();
    });
  });
}

/** Lines of packets for the port, at the tunnel and at the bridge of a machine of `shop`, while `work` goes on. */
async function seenAt(name: string, work: () => Promise<void>): Promise<readonly string[]> {
  const devices = [await deviceOf(name), await bridgeOf(shop, name)];
  const captures = devices.map((device) => {
    const [command, args] = spaceOf(name).command([
      'tcpdump',
      '--immediate-mode',
      '-lnn',
      '-i',
      device,
      'port',
      String(PORT),
    ]);
    const child = spawn(command, [...args]);
    const lines: string[] = [];
    child.stdout.on('data', (chunk: Buffer) =>
      lines.push(
        ...chunk
          .toString()
          .split('\n')
          .filter((line) => line !== ''),
      ),
    );
    return { child, lines, listening: listening(child) };
  });
  await Promise.all(captures.map((one) => one.listening));
  await work();
  // What is on its way arrives.
  await new Promise((resolve) => setTimeout(resolve, 500));
  for (const { child } of captures) {
    child.kill('SIGINT');
    await once(child, 'close');
  }
  return captures.flatMap(({ lines }, at) =>
    lines.map((line) => `${at === 0 ? 'tunnel' : 'bridge'}: ${line}`),
  );
}

attack(
  'a tenant that rules its own machine',
  "announces the key and addresses of another tenant's node as those of a node of its own",
  async () => {
    const device = await deviceOf('s2');
    const publicKey = (await on('s2', `wg show ${device} public-key`)).trim();
    const identity = await flow.enrolled('mask', bank);
    const mask = flow.dial(identity);
    const addresses = [lan.addressOf(spaceOf('s2'))];
    await mask.welcome({ features: ['mesh'], mesh: { publicKey, port: 51_820, addresses } });
    // Its map is of its own tenant alone.
    const told = await mask.next('mesh');
    expect(told.nodes.filter(({ name }) => !['mask', 'thief'].includes(name))).toEqual([]);
    expect(told.services.map(({ name }) => name)).toEqual(['spy']);
    const { body } = await eventually(
      'it has a subnet, the same as the node of the other tenant',
      () => bank.call('GET', '/api/v1/nodes/mask'),
      ({ body: node }) => node.mesh?.subnet !== undefined,
    );
    const { subnet } = body.mesh;
    const far = await addressOf(shop, 'far');
    expect(far.startsWith(subnet.replace(/0\/24$/, ''))).toBe(true);
    const own = await deviceOf('thief');
    await eventually(
      'the agent of the tenant sends there',
      () => on('thief', `wg show ${own} endpoints`),
      (text) => text.includes(`${publicKey}\t${addresses[0]}:51820`),
    );
    const strange = await seenAt('s2', async () => {
      await knock(bank, 'spy', far);
    });
    expect(strange).toEqual([]);
    expect(await on('s2', `wg show ${device} peers | wc -l`)).toBe('1\n');
  },
);

attack(
  'a tenant that rules its own machine',
  'records packets between nodes of another tenant, and sends them again',
  async () => {
    const far = await addressOf(shop, 'far');
    const file = join(folder, 'record.pcap');
    const port = `p${lan.addressOf(spaceOf('s2')).split('.')[3]}`;
    const [command, args] = lan.outside([
      'tcpdump',
      '--immediate-mode',
      '-U',
      '-w',
      file,
      '-i',
      port,
      'udp',
      'port',
      '51820',
    ]);
    const recording = spawn(command, [...args]);
    await listening(recording);
    expect((await seenAt('s2', () => knockThrice(far))).length).toBeGreaterThan(0);
    recording.kill('SIGINT');
    await once(recording, 'close');
    const packets = packetsOf(readFileSync(file));
    expect(packets.length).toBeGreaterThan(4);
    const device = await deviceOf('s2');
    const strange = await seenAt('s2', () => replay(packets, lan.addressOf(spaceOf('s2'))));
    expect(strange).toEqual([]);
    // Nor does the tenant's node take the sender for its peer, wherever that is by now.
    expect(await on('s2', `wg show ${device} endpoints`)).not.toContain(lan.addressOf(spaceOf('thief')));
  },
);

attack(
  'a tenant that rules its own machine',
  "sends packets of its containers to another tenant's: over its own network, and past it, by the machines between them",
  async () => {
    const far = await addressOf(shop, 'far');
    // A control: a packet of the tenant itself is seen at both.
    const own = await seenAt('s2', () => knockThrice(far));
    expect(own.some((line) => line.startsWith('tunnel'))).toBe(true);
    expect(own.some((line) => line.startsWith('bridge'))).toBe(true);
    const strange = await seenAt('s2', async () => {
      await knock(bank, 'spy', far);
      await on(
        'thief',
        'iptables -P FORWARD ACCEPT; nft delete table ip berth-mesh; nft delete table bridge berth-mesh',
      );
      await on('thief', `ip route replace ${far}/32 via ${lan.addressOf(spaceOf('s2'))}`);
      await knock(bank, 'spy', far);
    });
    expect(strange).toEqual([]);
  },
);

/** Of a capture of UDP: what each packet carries. */
function packetsOf(file: Buffer): readonly Buffer[] {
  const found: Buffer[] = [];
  const littleEndian = file.readUInt32LE(0) === 0xa1b2c3d4;
  for (let at = 24; at + 16 <= file.length; ) {
    const length = littleEndian ? file.readUInt32LE(at + 8) : file.readUInt32BE(at + 8);
    found.push(file.subarray(at + 16 + ETHERNET_IP_UDP, at + 16 + length));
    at += 16 + length;
  }
  return found;
}

/** From the machine of the other tenant. */
async function replay(packets: readonly Buffer[], to: string): Promise<void> {
  const script = `
    const socket = require('node:dgram').createSocket('udp4');
    const packets = ${JSON.stringify(packets.map((packet) => packet.toString('base64')))};
    (async () => {
      for (const packet of packets)
        await new Promise((sent) => socket.send(Buffer.from(packet, 'base64'), 51820, '${to}', sent));
      socket.close();
    })();`;
  const [command, args] = spaceOf('thief').command([process.execPath, '-e', script]);
  await promisify(execFile)(command, [...args]);
}
