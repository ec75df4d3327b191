import type { Workload } from '../../model/deployment.ts';
import type { MeshPeer } from '../../model/mesh.ts';
import { isOnTenantNetwork, namedNetworks } from '../../model/network.ts';

type Attached = Pick<Workload, 'networks'>;

export interface AccessVerdict {
  readonly allowed: boolean;
  /** What decides it, for people. */
  readonly rule: string;
}

/** Whether connections from the named one to the deployment are let through. `sources` are the workloads of that name; none: the ingress. */
export function accessVerdict(
  to: Pick<Workload, 'name' | 'networks' | 'access'>,
  from: string,
  sources: readonly Attached[],
): AccessVerdict {
  const common = namedNetworks(to).filter((name) =>
    sources.some((source) => source.networks?.includes(name)),
  );
  if (common.length > 0)
    return {
      allowed: true,
      rule: `both are on the network ${common.join(', ')}, which knows no access rules`,
    };
  if (!isOnTenantNetwork(to))
    return blocked(`${to.name} is on ${namedNetworks(to).join(', ')} only, and ${from} is not`);
  if (sources.length > 0 && !sources.some(isOnTenantNetwork))
    return blocked(`${from} is not on the tenant's network: its networks do not name tenant`);
  const allowed = to.access?.from;
  if (allowed === undefined)
    return {
      allowed: true,
      rule: `${to.name} has no access field: every deployment and job of the tenant may connect`,
    };
  if (allowed.includes(from)) return { allowed: true, rule: `access.from of ${to.name} names ${from}` };
  if (allowed.length === 0) return blocked(`access.from of ${to.name} is empty: nobody may connect`);
  return blocked(`access.from of ${to.name} names ${allowed.join(', ')}, not ${from}`);
}

function blocked(rule: string): AccessVerdict {
  return { allowed: false, rule };
}

export interface NodePath {
  readonly from: string;
  readonly to: string;
  readonly path: 'local' | 'direct' | 'relay' | 'none';
  readonly why: string;
}

export interface PathFacts {
  /** Why a node has no part in the network; undefined: it has one. */
  readonly without: (node: string) => string | undefined;
  readonly peer: (from: string, to: string) => MeshPeer | undefined;
}

/** The way from one node to another, as the first one's agent sees it. */
export function nodePath(from: string, to: string, { without, peer }: PathFacts): NodePath {
  const none = (why: string): NodePath => ({ from, to, path: 'none', why });
  if (from === to) return { from, to, path: 'local', why: 'the same node' };
  for (const node of [from, to]) {
    const problem = without(node);
    if (problem !== undefined) return none(`${node} has no part in the tenant's network: ${problem}`);
  }
  const seen = peer(from, to);
  if (seen === undefined) return none(`${from} has not said how it reaches ${to}`);
  if (seen.path === 'none' || !seen.carries) return none(`${from} gets no answer from ${to}, on any way`);
  const took = seen.roundTripMs === undefined ? '' : `, ${seen.roundTripMs} ms there and back`;
  return seen.path === 'relay'
    ? { from, to, path: 'relay', why: `no direct way: through the control plane${took}` }
    : { from, to, path: 'direct', why: `${seen.address ?? 'WireGuard'}${took}` };
}
