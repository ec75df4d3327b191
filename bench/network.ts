import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type ClusterNode, startCluster, type Tenant } from '../test/support/harness/cluster.ts';
import type { TestNamespace } from '../test/support/harness/engine-network.ts';
import { Lan } from '../test/support/harness/lan.ts';
import { eventually } from '../test/support/eventually.ts';
import { ensurePackages } from '../test/support/harness/packages.ts';
import { cpuSeconds } from './support/process-cost.ts';

/**
 * The network of a tenant between two machines, against WireGuard set up by hand between the same two in the same run, by rate and by
 * what the tunnels' processes spend on the same bytes, which other work on the machine changes little; virtual addresses against the
 * instance itself; names; how soon all nodes know of an instance that ended.   node bench/network.ts [seconds]
 */
const SECONDS = Number(process.argv[2] ?? 5);
const ROUNDS = SECONDS > 2 ? 3 : 1;
const BARE_PORT = 52_000;
const FILE_MIB = SECONDS > 2 ? 200 : 20;
const WEB = `mkdir -p /tmp/www; dd if=/dev/zero of=/tmp/www/large bs=1M count=${FILE_MIB} 2>/dev/null; exec httpd -f -p 80 -h /tmp/www`;

ensurePackages(['wireguard-go', 'wireguard-tools', 'nftables', 'iproute2', 'iperf3', 'busybox-static']);
const lan = new Lan();
const cluster = await startCluster();

function spaceOf({ engine: { namespace } }: ClusterNode): TestNamespace {
  if (namespace === undefined) throw new Error('no namespace');
  return namespace;
}

function on(node: ClusterNode, ...argv: readonly string[]): string {
  const [command, args] = spaceOf(node).command(argv);
  return execFileSync(command, [...args], { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

/** As a person would, with the same size of packets. */
function bareTunnel(one: ClusterNode, two: ClusterNode): string {
  // By these names agents know a tunnel: one that they take for the way to others would make their packets smaller by its headers.
  const names = ['wg-bench-a', 'wg-bench-b'] as const;
  const keys = names.map(() => execFileSync('/usr/bin/wg', ['genkey'], { encoding: 'utf8' }).trim());
  const pub = keys.map((input) =>
    execFileSync('/usr/bin/wg', ['pubkey'], { encoding: 'utf8', input }).trim(),
  );
  for (const [at, node] of [one, two].entries()) {
    const [name, other] = [names[at] ?? '', 1 - at];
    const peer = lan.addressOf(spaceOf(other === 0 ? one : two));
    on(node, 'wireguard-go', name);
    on(
      node,
      'sh',
      '-c',
      `echo '${keys[at]}' > /run/${name}.key; wg set ${name} private-key /run/${name}.key listen-port ${BARE_PORT} peer ${pub[other]} allowed-ips 10.99.0.0/24 endpoint ${peer}:${BARE_PORT}; rm /run/${name}.key`,
    );
    on(node, 'ip', 'address', 'add', `10.99.0.${at + 1}/24`, 'dev', name);
    on(node, 'ip', 'link', 'set', name, 'mtu', '1420', 'up');
  }
  return '10.99.0.2';
}

/** Megabits a second from the first machine to an address of the second. */
async function throughput(one: ClusterNode, two: ClusterNode, address: string): Promise<number> {
  const [command, args] = spaceOf(two).command(['iperf3', '-s', '-1', '-B', address]);
  const server = spawn(command, [...args], { stdio: 'ignore' });
  await pause(500);
  const text = on(one, 'iperf3', '-J', '-t', String(SECONDS), '-c', address);
  server.kill('SIGKILL');
  return JSON.parse(text).end.sum_received.bits_per_second / 1e6;
}

/** Milliseconds of a round trip, the median line of ping's summary. */
function roundTrip(one: ClusterNode, address: string): number {
  const text = on(one, '/bin/busybox', 'ping', '-q', '-c', String(SECONDS * 40), '-i', '0.05', address);
  return Number(/= [\d.]+\/([\d.]+)\//.exec(text)?.[1]);
}

function fetched(one: ClusterNode, address: string): number {
  const seconds = Number(
    on(one, 'curl', '-s', '-o', '/dev/null', '-w', '%{time_total}', `http://${address}/large`),
  );
  return (FILE_MIB * 8.388608) / seconds;
}

const ASKER = `
const { createSocket } = require('node:dgram');
const [, host, name, ms] = process.argv;
const labels = name.split('.').map((label) => String.fromCharCode(label.length) + label).join('');
const question = Buffer.from('000001000001000000000000', 'hex');
const data = Buffer.concat([question, Buffer.from(labels + '\\0', 'latin1'), Buffer.from('00010001', 'hex')]);
const socket = createSocket('udp4');
let answers = 0;
const ask = () => socket.send(data, 53, host);
const show = (answer) => { console.log(answer.subarray(data.length).toString('hex')); process.exit(); };
socket.on('message', (answer) => { if (ms === '0') show(answer); if (answer.readUInt16BE(6) > 0) answers += 1; ask(); });
for (let at = 0; at < 32; at += 1) ask();
setTimeout(() => { console.log(answers); process.exit(); }, Number(ms) || 2000);
`;

/** In the network of a container: nobody else is answered. */
function asked(pid: number, name: string, ms: number): string {
  const asker = [process.execPath, '-e', ASKER, '10.211.255.254', name, String(ms)];
  return execFileSync('/usr/bin/nsenter', ['-t', String(pid), '-n', '--', ...asker], { encoding: 'utf8' });
}

const addressesOf = (pid: number): string => asked(pid, 'instances.web.berth.internal', 0).trim();

async function instanceAddress(node: ClusterNode, deployment: string): Promise<string> {
  const [container] = await node.containers(deployment);
  const { NetworkSettings } = await node.inspect(container?.id ?? '');
  const [network] = Object.values<{ IPAddress: string }>(NetworkSettings.Networks);
  return network?.IPAddress ?? '';
}

/** Of the tunnels by hand, or of the mesh. */
function tunnels(byHand: boolean): readonly number[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (!program.endsWith('wireguard-go')) return [];
      return args.some((arg) => /^wg-bench-[ab]$/.test(arg)) === byHand ? [Number(pid)] : [];
    } catch {
      return [];
    }
  });
}

/** Seconds of the processor that the processes spent while it ran. */
async function spent(pids: readonly number[], work: () => Promise<number> | number): Promise<Sample> {
  const total = (): number => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = total();
  const rate = await work();
  return { rate, seconds: total() - before };
}

interface Sample {
  readonly rate: number;
  readonly seconds: number;
}

interface Side {
  readonly work: () => Promise<number> | number;
  readonly pids: readonly number[];
  /** Of one run at this rate. */
  readonly gib: (mbits: number) => number;
}

/** Rates in turn, and what the tunnels spend on a gibibyte. */
async function compareSpeeds(what: string, one: Side, two: Side): Promise<void> {
  const samples: readonly [Sample[], Sample[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [at, { work, pids }] of [one, two].entries()) samples[at]?.push(await spent(pids, work));
  const [a, b] = samples.map((side) => median(side.map(({ rate }) => rate)));
  const [x, y] = [one, two].map(({ gib }, at) =>
    median((samples[at] ?? []).map(({ rate, seconds }) => seconds / gib(rate))),
  );
  if (a === undefined || b === undefined || x === undefined || y === undefined) return;
  console.log(
    `${what}: ${a.toFixed(2)} and ${b.toFixed(2)} Mbit/s, ratio ${(b / a).toFixed(2)}; processor time of the tunnels ${x.toFixed(2)} and ${y.toFixed(2)} s a GiB, ${(y / x).toFixed(2)} of the first`,
  );
}

const median = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[all.length >> 1] ?? Number.NaN;

async function compare(
  what: string,
  unit: string,
  first: () => Promise<number> | number,
  second: () => Promise<number> | number,
): Promise<void> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    a.push(await first());
    b.push(await second());
  }
  const ratio = median(a) / median(b);
  console.log(
    `${what}: ${median(a).toFixed(2)} and ${median(b).toFixed(2)} ${unit}, ratio ${ratio.toFixed(2)}`,
  );
}

try {
  const shop: Tenant = await cluster.plane.tenant('shop');
  const mesh = {
    environment: { BERTH_AGENT_MESH: '51820' },
    plug: (namespace: TestNamespace) => void lan.attach(namespace),
  };
  const one = await cluster.node('bench-1', shop, mesh);
  const two = await cluster.node('bench-2', shop, mesh);
  await cluster.deploy(shop, {
    name: 'web',
    replicas: 2,
    command: ['sh', '-c', WEB],
    placement: { antiAffinity: ['web'] },
  });
  await cluster.deploy(shop, { name: 'far', nodeId: 'bench-2', command: ['sh', '-c', WEB] });
  await cluster.phase(shop, 'far', 'Running');
  await cluster.phase(shop, 'web', 'Running');
  const pathIs = (path: string) =>
    eventually(
      path,
      async () => (await shop.call('GET', '/api/v1/nodes/bench-1')).body.mesh?.peers?.[0],
      (peer) => peer?.path === path && peer.carries,
      60_000,
    );
  await pathIs('direct');
  const bare = bareTunnel(one, two);
  const gateway = '10.210.1.1';
  const sent = (mbits: number): number => (mbits * 1e6 * SECONDS) / 8 / 2 ** 30;
  const [byHand, ofMesh] = [tunnels(true), tunnels(false)];
  await compareSpeeds(
    'throughput, bare wireguard-go and mesh',
    { work: () => throughput(one, two, bare), pids: byHand, gib: sent },
    { work: () => throughput(one, two, gateway), pids: ofMesh, gib: sent },
  );
  await compare(
    'round trip, bare wireguard-go and mesh',
    'ms',
    () => roundTrip(one, bare),
    () => roundTrip(one, gateway),
  );

  const { body } = await shop.call('GET', '/api/v1/deployments/far');
  const virtual: string = body.status.virtualAddress;
  const instance = await instanceAddress(two, 'far');
  const file = (): number => FILE_MIB / 1024;
  await compareSpeeds(
    'a file, instance and virtual address',
    { work: () => fetched(one, instance), pids: ofMesh, gib: file },
    { work: () => fetched(one, virtual), pids: ofMesh, gib: file },
  );

  const [near, far] = [
    (await one.containers('web'))[0]?.pid ?? 0,
    (await two.containers('far'))[0]?.pid ?? 0,
  ];
  const answers = Number(asked(near, 'web.berth.internal', SECONDS * 1_000));
  console.log(`names: ${Math.round(answers / SECONDS).toLocaleString('en')} answers/s`);

  const before = addressesOf(near);
  const [victim] = await two.containers('web');
  const begun = performance.now();
  await two.docker.kill(victim?.id ?? '', 'SIGKILL');
  // One after the other: the engine starts it again at once, and a look takes long on a busy machine.
  const unaware = new Set([near, far]);
  while (unaware.size > 0 && performance.now() - begun < 20_000) {
    for (const pid of unaware) if (addressesOf(pid) !== before) unaware.delete(pid);
    await pause(20);
  }
  console.log(
    `an instance that ended is in no node's answers after ${((performance.now() - begun) / 1_000).toFixed(2)} s`,
  );

  lan.cut(spaceOf(one), spaceOf(two));
  await pathIs('relay');
  const relayed = await throughput(one, two, gateway);
  const trip = roundTrip(one, gateway);
  console.log(
    `relay: ${relayed.toFixed(2)} Mbit/s (network.relayBytesPerSecond is 67), round trip ${trip.toFixed(2)} ms`,
  );
} finally {
  await cluster.stop();
  lan.remove();
}
