import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { parseCidr } from '../../core/model/ipv4.ts';
import { fields, list, text } from '../engine/fields.ts';
import { findProgram, type Program, PROGRAMS, run } from '../volumes/program.ts';

const MAX_ADDRESSES = 12;
const MAX_ROUTES = 256;
/** Interfaces of engines and tunnels: nobody else reaches the machine by their addresses. */
const INWARD = /^(?:lo$|docker|br-|veth|podman|cni-|virbr|berth-|tun|tap|wg)/;

/** All that a node calls while it takes part; WireGuard itself has another way where the kernel has none. */
const NEEDED: readonly Program[] = ['ip', 'bridge', 'wg', 'nft'];

/**
 * Throws what keeps this machine from taking part. A node that had an address and no rules would be reached by everybody, whatever its
 * deployments say of who may connect.
 */
export async function ensureAble(find: (program: Program) => Promise<string | undefined> = findProgram) {
  for (const program of NEEDED)
    if ((await find(program)) === undefined)
      throw new Error(`${program} is not installed; it is in the package ${PROGRAMS[program]}`);
  await run('nft', ['list', 'tables']);
}

/** One per identity: several agents on one machine, as in tests, each in a network namespace of its own, share the file system. */
export function deviceName(node: string, dataDir: string): string {
  return `berth-${createHash('sha256').update(`${dataDir}/${node}`).digest('hex').slice(0, 8)}`;
}

/** By which other machines may reach this one. */
export function machineAddresses(): readonly string[] {
  const found = Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    INWARD.test(name) ? [] : (addresses ?? []),
  );
  return found
    .flatMap(({ family, internal, address }) => (family === 'IPv4' && !internal ? [address] : []))
    .slice(0, MAX_ADDRESSES);
}

/** Room for WireGuard's own headers, over IPv6 too. */
const HEADER_BYTES = 80;
const USUAL_MTU = 1_500;
/** Every network carries packets of this size. */
const LEAST_MTU = 1_280;

/** The largest packet that leaves this machine in one piece with WireGuard's headers, by whichever of its interfaces. */
export async function meshMtu(): Promise<number> {
  const links = list(JSON.parse(await run('ip', ['-j', 'link', 'show', 'up']))).map(fields);
  const sizes = links.flatMap((link) => {
    const mtu = link['mtu'];
    return INWARD.test(text(link['ifname']) ?? 'lo') || typeof mtu !== 'number' ? [] : [mtu];
  });
  return Math.max(LEAST_MTU, Math.min(USUAL_MTU, ...sizes) - HEADER_BYTES);
}

/** Networks that the machine reaches without the mesh. `ownSubnets`: what the engine has from it. */
export async function foreignRoutes(
  device: string,
  ownSubnets: ReadonlySet<string>,
): Promise<readonly string[]> {
  const routes = list(JSON.parse(await run('ip', ['-j', '-4', 'route', 'show'])));
  return routes
    .map(fields)
    .flatMap((route) => {
      const network = text(route['dst']) ?? '';
      const cidr = network.includes('/') ? network : `${network}/32`;
      const isOwn = text(route['dev']) === device || ownSubnets.has(cidr);
      return isOwn || parseCidr(cidr) === undefined ? [] : [cidr];
    })
    .slice(0, MAX_ROUTES);
}

export interface Bridge {
  readonly name: string;
  readonly mac: string;
  /** The interfaces of containers. */
  readonly ports: readonly string[];
}

/** The engine's interface that has the gateway's address: engines name it each in its own way. */
export async function bridgeOf(gateway: string): Promise<Bridge | undefined> {
  const links = list(JSON.parse(await run('ip', ['-j', 'address', 'show']))).map(fields);
  const bridge = links.find(
    (link) =>
      text(link['link_type']) === 'ether' &&
      list(link['addr_info']).some((address) => text(fields(address)['local']) === gateway),
  );
  const [name, mac] = [text(bridge?.['ifname']), text(bridge?.['address'])];
  if (name === undefined || mac === undefined) return undefined;
  const ports = links.flatMap((link) => (text(link['master']) === name ? (text(link['ifname']) ?? []) : []));
  return { name, mac, ports };
}

/** Packets that a container sends to itself through a virtual address come back by the port that they left by. */
export async function turnBack(ports: readonly string[]): Promise<void> {
  const links = list(JSON.parse(await run('bridge', ['-j', '-d', 'link', 'show']))).map(fields);
  for (const port of ports) {
    const link = links.find((one) => text(one['ifname']) === port);
    const flags = list(link?.['flags']);
    if (link === undefined || link['hairpin'] === true || flags.includes('hairpin')) continue;
    await run('bridge', ['link', 'set', 'dev', port, 'hairpin', 'on']);
  }
}

const NAMESERVER = /^nameserver[ \t]+([0-9a-fA-F.:]{2,45})[ \t]*$/;

/** Of the machine, as its own programs use them. */
export async function machineResolvers(): Promise<readonly string[]> {
  const lines = (await readFile('/etc/resolv.conf', 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => NAMESERVER.exec(line)?.[1] ?? []).slice(0, 3);
}
