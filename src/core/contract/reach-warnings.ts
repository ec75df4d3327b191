import type { Warning } from '../model/announcement.ts';
import { type MeshedNode, meshStanding, wayTo } from './mesh-standing.ts';

const FIELD = 'plan.instances';

/**
 * What instances on these nodes will not reach by name, or only slowly. Nothing where no node takes part in the tenant's network: then
 * nobody counts on it.
 */
export function reachWarnings(targets: ReadonlySet<string>, nodes: readonly MeshedNode[]): Warning[] {
  if (!nodes.some((node) => meshStanding(node).state === 'joined')) return [];
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return nodes.flatMap((node) => {
    const name = node.name ?? '';
    if (!targets.has(name)) return [];
    const { state, why, fix } = meshStanding(node);
    if (state === 'apart') return [apart(name, why, fix)];
    const ways = (node.mesh?.peers ?? []).map((peer) => ({
      peer: peer.node ?? '',
      ...wayTo(peer, byName.get(peer.node)),
    }));
    return ways.flatMap(({ peer, ...way }) => {
      if (way.state === 'direct') return [];
      const text = `${way.why ?? ''}; ${way.fix ?? ''}`;
      return way.state === 'relayed'
        ? [warning('network_relayed', `${name} reaches ${peer} through the relay, which is slower: ${text}.`)]
        : [warning('network_unreachable', `${name} does not reach ${peer}: ${text}.`)];
    });
  });
}

export const NO_INGRESS_NODE =
  'no node of the tenant serves the ingress: start the agent of one with --ingress, on a machine with Caddy';

export const UNSERVED = 'ingress_unserved';

/** Of a spec with hosts or ports from outside, where nobody serves them. */
export function unservedWarning(): Warning {
  return {
    code: UNSERVED,
    field: 'ingress',
    why: `${NO_INGRESS_NODE}. Until then nobody reaches it from outside.`,
  };
}

function apart(node: string, why: string | undefined, fix: string | undefined): Warning {
  const mend = fix === undefined ? '' : `; ${fix}`;
  return warning(
    'node_without_network',
    `${node} has no part in the tenant's network (${why ?? 'unknown why'}): instances there and on other nodes do not reach one another by name${mend}.`,
  );
}

function warning(code: string, why: string): Warning {
  return { code, field: FIELD, why };
}
