import type { NodeState } from '../node-state.ts';
import type { NetworkRequirement, PlacementRequest } from '../request.ts';
import type { Filter } from './filter.ts';

export const network: Filter = {
  name: 'network',
  scope: 'node',
  steady: true,
  admits: (state, request) => unmet(state, request).length === 0,
  required: (request) =>
    (request.networks ?? [])
      .map((needed) => `${needed.network} on ${needed.node ?? 'no node at present'}`)
      .join('; ') || 'nothing',
  reported: (state, request) => {
    const missing = unmet(state, request).map((needed) => needed.network);
    return missing.length === 0 ? 'all networks here' : `without ${missing.join(', ')}`;
  },
  refusal: (state, request) => {
    const missing = unmet(state, request);
    return {
      code: missing.some(({ node }) => node === undefined) ? 'network_without_node' : 'network_on_other_node',
      message: missing.map((needed) => sentence(state, needed)).join('; '),
    };
  },
};

const NONE: readonly NetworkRequirement[] = [];

function unmet(state: NodeState, { networks = NONE }: PlacementRequest): readonly NetworkRequirement[] {
  return networks.length === 0 ? NONE : networks.filter(({ node }) => node !== state.name);
}

function sentence(state: NodeState, needed: NetworkRequirement): string {
  if (needed.node === undefined) return `network ${needed.network} does not exist any more`;
  return `network ${needed.network} is on ${needed.node} alone, this is ${state.name}`;
}
