import { type Cidr, cidrText, overlap, parseCidr, addressCount } from '../../core/model/ipv4.ts';
import { DEFAULT_PREFIXES } from '../../core/model/mesh.ts';
import { installText } from '../up/advice.ts';
import type { System } from '../up/system.ts';
import { bad, type Finding, good, unknown } from './finding.ts';

/** What a machine has for the network of a tenant's nodes. */
export interface MeshMachine {
  readonly system: System;
  /** It is a node already: then what is missing is a problem, and else only worth knowing. */
  readonly isNode: boolean;
  /** Its agent takes part, so the ports and routes are its own. */
  readonly isJoined: boolean;
  readonly programs: ReadonlySet<string>;
  readonly kernelWireGuard: boolean;
  readonly tunDevice: boolean;
  readonly portsTaken: readonly number[];
  readonly forwards: boolean;
  readonly routes: readonly string[];
}

export const MESH_PROGRAMS = {
  wg: 'wireguard-tools',
  nft: 'nftables',
  ip: 'iproute2',
  bridge: 'iproute2',
} as const;
const IF_NODE = 'that matters only if this machine is to be a node';

/** WireGuard by the kernel or by a program, and the programs that set it up. */
export function judgePrograms(machine: MeshMachine): Finding {
  const { programs, kernelWireGuard, tunDevice } = machine;
  const packages: string[] = Object.entries(MESH_PROGRAMS).flatMap(([program, name]) =>
    programs.has(program) ? [] : [name],
  );
  const byProgram = programs.has('wireguard-go');
  if (!kernelWireGuard && !byProgram) packages.push('wireguard-go');
  if (packages.length > 0)
    return wrong(
      machine,
      `missing: ${[...new Set(packages)].join(', ')}`,
      `Install them (${installText([...new Set(packages)], machine.system)}) and restart the agent: until then containers here reach no other node.`,
    );
  if (!kernelWireGuard && !tunDevice)
    return wrong(
      machine,
      'wireguard-go has no /dev/net/tun',
      'Load it: modprobe tun; in a container, pass the device in.',
    );
  return good(`WireGuard by ${kernelWireGuard ? 'the kernel' : 'wireguard-go'}, nftables, iproute2`);
}

export function judgePorts(machine: MeshMachine): Finding {
  const { isJoined, portsTaken } = machine;
  if (isJoined) return good('used by the agent');
  if (portsTaken.length === 0) return good('UDP 51820 and 51821 are free');
  return wrong(
    machine,
    `UDP ${portsTaken.join(' and ')} in use by another program`,
    `ss -lunp 'sport = :${portsTaken[0] ?? 51_820}' names it; or start the agent with another port: --mesh 51830`,
  );
}

/** Packets between containers of two nodes are forwarded; a route of the machine's own must not cover the prefix. */
export function judgeRoutes(machine: MeshMachine): Finding {
  const { forwards, isJoined, routes } = machine;
  if (!forwards)
    return wrong(
      machine,
      'net.ipv4.ip_forward is 0: nothing is forwarded to containers',
      'Engines turn it on; something turned it off again. sysctl -w net.ipv4.ip_forward=1, and look in /etc/sysctl.d.',
    );
  if (isJoined) return good('packets are forwarded');
  const foreign = routes.flatMap((route) => parseCidr(route) ?? []);
  const covering = foreign.find((route) => covers(route, DEFAULT_PREFIXES.nodes));
  const virtual = foreign.find((route) => meets(route, DEFAULT_PREFIXES.virtual));
  if (covering === undefined && virtual === undefined)
    return good('packets are forwarded, and no route of this machine meets the network');
  const [route, setting] =
    covering === undefined ? [virtual, 'network.virtualPrefix'] : [covering, 'network.prefix'];
  return wrong(
    machine,
    `the route ${route === undefined ? '' : cidrText(route)} overlaps what ${setting} is by default`,
    `Set ${setting} of the control plane to addresses that no node has a route to, before the first node joins.`,
  );
}

function covers(route: Cidr, prefix: string): boolean {
  const all = parseCidr(prefix);
  return all !== undefined && overlap(route, all) && addressCount(route) >= addressCount(all);
}

function meets(route: Cidr, prefix: string): boolean {
  const all = parseCidr(prefix);
  return all !== undefined && overlap(route, all);
}

function wrong({ isNode }: MeshMachine, text: string, advice: string): Finding {
  return isNode ? bad(text, advice) : unknown(`${text}; ${IF_NODE}`);
}
