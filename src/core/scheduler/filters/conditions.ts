import type { NodeState } from '../node-state.ts';
import type { Filter } from './filter.ts';

/** A machine that runs out of something keeps what it has and takes nothing new, but what has to be where its volume is. */
export const conditions: Filter = {
  name: 'conditions',
  scope: 'node',
  steady: false,
  admits: ({ name, node }, { volumes = [] }) =>
    node.record.conditions === undefined || volumes.some(({ nodes }) => nodes.includes(name)),
  required: () => 'room on the machine',
  reported,
  refusal: (state) => ({
    code: `node_condition_${state.node.record.conditions?.[0]?.kind ?? 'unknown'}`,
    message: `needs a node with room on the machine itself, this one reports: ${reported(state)}`,
  }),
};

function reported({ node }: NodeState): string {
  return node.record.conditions?.map(({ message }) => message).join('; ') ?? 'room';
}
