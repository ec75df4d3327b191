import { MESH_FEATURE, MESH_PORT, NO_PART } from '../model/mesh.ts';

/** Of a node's answer: what says how it stands in its tenant's network. A control plane of another release may leave out anything. */
export interface MeshedNode {
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly features?: readonly string[] | undefined;
  readonly problems?: readonly string[] | undefined;
  readonly mesh?:
    | {
        readonly subnet?: string | undefined;
        readonly problem?: string | undefined;
        readonly port?: number | undefined;
        readonly addresses?: readonly string[] | undefined;
        readonly peers?: readonly MeshedPeer[] | undefined;
      }
    | undefined;
}

export interface MeshedPeer {
  readonly node?: string | undefined;
  readonly path?: string | undefined;
  readonly address?: string | undefined;
  readonly carries?: boolean | undefined;
  readonly roundTripMs?: number | undefined;
  readonly receivedBytes?: number | undefined;
  readonly sentBytes?: number | undefined;
}

/** Command line, doctor and dashboard say the same of the same node. */
export interface MeshStanding {
  readonly state: 'joined' | 'joining' | 'apart';
  readonly why?: string;
  readonly fix?: string;
}

const PACKAGES =
  'install wireguard-tools, wireguard-go (where the kernel has no WireGuard), nftables and iproute2';

export const NO_SUBNET_FIX =
  'delete nodes that are gone, remove the route, or choose another network.prefix or network.virtualPrefix of the control plane';
export const DISPUTED_FIX = 'remove the route, or drain the node: it is given another subnet then';

export function meshStanding({ features = [], problems = [], mesh }: MeshedNode): MeshStanding {
  const problem = problems.find((one) => one.startsWith(NO_PART));
  if (mesh === undefined) {
    if (problem !== undefined)
      return {
        state: 'apart',
        why: problem.slice(NO_PART.length),
        fix: `run berth doctor on the machine; ${PACKAGES}, then restart its agent`,
      };
    return features.includes(MESH_FEATURE)
      ? { state: 'apart', why: 'its agent runs with --mesh off', fix: `start it with --mesh ${MESH_PORT}` }
      : { state: 'apart', why: 'its agent is of an earlier release', fix: 'update berth on the machine' };
  }
  if (mesh.subnet !== undefined) {
    if (problem !== undefined)
      return { state: 'joined', why: problem.slice(NO_PART.length), fix: 'run berth doctor on the machine' };
    return mesh.problem === undefined
      ? { state: 'joined' }
      : { state: 'joined', why: mesh.problem, fix: DISPUTED_FIX };
  }
  if (mesh.problem === undefined) return { state: 'joining', why: 'its subnet is being chosen' };
  return { state: 'apart', why: mesh.problem, fix: NO_SUBNET_FIX };
}

export interface Way {
  readonly state: 'direct' | 'relayed' | 'none';
  /** Where packets go, of a direct one. */
  readonly address?: string;
  readonly why?: string;
  readonly fix?: string;
}

/** One word for each, wherever it is shown. */
export const WAY_WORDS: Readonly<Record<Way['state'], string>> = {
  direct: 'direct',
  relayed: 'relayed',
  none: 'unreachable',
};

/** How packets go to a peer. `to`: the peer's own record, if the tenant still has it. */
export function wayTo(peer: MeshedPeer, to: MeshedNode | undefined): Way {
  const name = peer.node ?? 'the node';
  const tried = triedText(to?.mesh?.addresses ?? []);
  if (peer.carries === true && peer.path === 'direct')
    return { state: 'direct', ...(peer.address !== undefined && { address: peer.address }) };
  if (peer.carries === true && peer.path === 'relay')
    return {
      state: 'relayed',
      why: `no address of ${name} answers${tried}`,
      fix: openPorts(name, to),
    };
  if (to?.status !== undefined && to.status !== 'ready')
    return { state: 'none', why: `${name} is silent`, fix: `is berth agent running on ${name}?` };
  return {
    state: 'none',
    why: `neither an address of ${name}${tried} nor the relay answers`,
    fix: openPorts(name, to),
  };
}

const MAX_TRIED = 4;

/** A wrong one among them is seen at once. */
export function triedText(addresses: readonly string[]): string {
  const shown = addresses.slice(0, MAX_TRIED).join(', ');
  return shown === '' ? '' : ` (${shown}${addresses.length > MAX_TRIED ? ', …' : ''})`;
}

/** WireGuard's, and the next one, by which addresses are tried. */
function openPorts(name: string, node: MeshedNode | undefined): string {
  const port = node?.mesh?.port ?? MESH_PORT;
  return `let UDP ${port} and ${port + 1} in at ${name}, or name another address there with --advertise-address`;
}

/** Under which containers of the tenant reach a deployment. */
export function namesOf(deployment: string): { readonly own: string; readonly instances: string } {
  return { own: `${deployment}.berth.internal`, instances: `instances.${deployment}.berth.internal` };
}

/** `2 direct, 1 relayed`, as counted; empty for no peer. */
export function waysText(ways: readonly Pick<Way, 'state'>[]): string {
  return (['direct', 'relayed', 'none'] as const)
    .flatMap((state) => {
      const count = ways.filter((way) => way.state === state).length;
      return count === 0 ? [] : [`${count} ${WAY_WORDS[state]}`];
    })
    .join(', ');
}
