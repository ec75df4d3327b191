import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Addresses of one test engine: `10.<x>.<y>.0/20`, y a multiple of 16, reserved across processes by a folder. */
export interface TestSubnet {
  readonly x: number;
  readonly y: number;
}

/** A network namespace with a pair of interfaces to the namespace of the tests. */
export interface TestNamespace {
  readonly name: string;
  /** Of the tests' side: a server of the test listens here to be reached from inside. */
  readonly hostAddress: string;
  /** Of the inside: published ports of containers answer here. */
  readonly address: string;
  /** The command and arguments that run `argv` inside. */
  command(argv: readonly string[]): readonly [command: string, args: readonly string[]];
}

const RESERVATIONS = join(tmpdir(), 'berth-test-subnets');

export function ip(...args: string[]): string {
  return execFileSync('/usr/sbin/ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** For cleaning up what may be gone already. */
export function quietly(work: () => unknown): void {
  try {
    work();
  } catch {
    // Gone already.
  }
}

/** A process that has ended but was not waited for does not count. */
export function isAlive(pid: number): boolean {
  const stat = readOr(`/proc/${pid}/stat`, '');
  return stat !== '' && stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
}

export function reserveSubnet(): TestSubnet {
  mkdirSync(RESERVATIONS, { recursive: true });
  const taken = ip('-4', '-o', 'addr');
  for (let attempt = 0; attempt < 500; attempt += 1) {
    // Beside what tenants' networks take by default.
    const subnet = { x: 130 + Math.floor(Math.random() * 80), y: Math.floor(Math.random() * 16) * 16 };
    if (!addressPattern(subnet).test(taken) && reserve(subnet)) return subnet;
  }
  throw new Error('no free subnet for a test engine');
}

function reserve(subnet: TestSubnet): boolean {
  const folder = join(RESERVATIONS, `${subnet.x}-${subnet.y}`);
  try {
    mkdirSync(folder);
  } catch {
    const owner = Number(readOr(join(folder, 'pid'), String(process.pid)));
    if (isAlive(owner)) return false;
  }
  writeFileSync(join(folder, 'pid'), String(process.pid));
  return true;
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

export function releaseSubnet(subnet: TestSubnet): void {
  rmSync(join(RESERVATIONS, `${subnet.x}-${subnet.y}`), { recursive: true, force: true });
}

/** Matches any address of the subnet in the output of `ip` and `iptables-save`. */
function addressPattern({ x, y }: TestSubnet): RegExp {
  const thirds = Array.from({ length: 16 }, (_, index) => y + index);
  return new RegExp(`\\b10\\.${x}\\.(?:${thirds.join('|')})\\.`);
}

export const bridgeAddress = ({ x, y }: TestSubnet): string => `10.${x}.${y}.1/24`;
/** For what the engine makes itself: 32 networks of 62 addresses, or 8 of 254. */
export const addressPool = ({ x, y }: TestSubnet, largeNetworks = false): string =>
  `base=10.${x}.${y + 8}.0/21,size=${largeNetworks ? 24 : 26}`;

/** A bridge of its own, so that several daemons with networking live side by side in one namespace. */
export function addBridge(name: string, subnet: TestSubnet): void {
  ip('link', 'add', 'name', name, 'type', 'bridge');
  ip('addr', 'add', bridgeAddress(subnet), 'dev', name);
  ip('link', 'set', name, 'up');
}

export function addNamespace(name: string, subnet: TestSubnet): TestNamespace {
  const hostAddress = `10.${subnet.x}.${subnet.y + 4}.1`;
  const address = `10.${subnet.x}.${subnet.y + 4}.2`;
  ip('netns', 'add', name);
  ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  ip('addr', 'add', `${hostAddress}/30`, 'dev', name);
  ip('link', 'set', name, 'up');
  ip('-n', name, 'addr', 'add', `${address}/30`, 'dev', 'eth0');
  for (const device of ['lo', 'eth0']) ip('-n', name, 'link', 'set', device, 'up');
  ip('-n', name, 'route', 'add', 'default', 'via', hostAddress);
  return {
    name,
    hostAddress,
    address,
    command: (argv) => ['/usr/bin/nsenter', [`--net=/run/netns/${name}`, '--', ...argv]],
  };
}

export function removeNamespace(name: string): void {
  quietly(() => endTunnels(name));
  quietly(() => ip('link', 'del', name));
  quietly(() => ip('netns', 'del', name));
}

/** They outlive the agent that started them, and would outlive the name of the namespace. */
function endTunnels(name: string): void {
  for (const pid of pidsIn(name, ['wireguard-go', 'caddy'])) process.kill(pid);
}

/** Of programs by name; one that ends meanwhile is none of them. */
export function pidsIn(namespace: string, programs: readonly string[]): number[] {
  const pids = ip('netns', 'pids', namespace).split('\n').filter(Boolean);
  return pids.filter((pid) => programs.includes(readOr(`/proc/${pid}/comm`, '').trim())).map(Number);
}

/** Engines leave the bridges of their networks and their filter rules behind when they end. */
export function removeTraces(bridge: string | undefined, subnet: TestSubnet): void {
  const pattern = addressPattern(subnet);
  const devices = new Set(bridge === undefined ? [] : [bridge]);
  for (const line of ip('-4', '-o', 'addr').split('\n')) {
    const device = line.split(/\s+/)[1];
    if (device !== undefined && pattern.test(line)) devices.add(device);
  }
  const mentions = (rule: string): boolean =>
    pattern.test(rule) || rule.split(' ').some((word) => devices.has(word));
  for (const [table, rule] of filterRules()) {
    if (mentions(rule)) quietly(() => iptables('-t', table, ...rule.replace(/^-A/, '-D').split(' ')));
  }
  for (const device of devices) quietly(() => ip('link', 'del', device));
}

function iptables(...args: string[]): void {
  execFileSync('/usr/sbin/iptables', ['-w', ...args], { stdio: 'ignore' });
}

function filterRules(): readonly (readonly [table: string, rule: string])[] {
  const saved = execFileSync('/usr/sbin/iptables-save', {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let table = '';
  return saved.split('\n').flatMap((line) => {
    if (line.startsWith('*')) table = line.slice(1);
    return line.startsWith('-A ') ? [[table, line] as const] : [];
  });
}
