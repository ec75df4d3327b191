import type { NodeCondition } from '../../model/node.ts';
import type { NodeState } from '../node-state.ts';
import type { ClusterFacts, Filter } from './filter.ts';

/** A machine that runs out of something, or is broken, keeps what it has and takes nothing new, but what has to be where its volume is. */
export const conditions: Filter = {
  name: 'conditions',
  scope: 'node',
  steady: false,
  admits: (state, { volumes = [] }, facts) =>
    state.node.record.conditions === undefined ||
    against(state, facts).length === 0 ||
    volumes.some(({ nodes }) => nodes.includes(state.name)),
  required: () => 'a machine in order, with room',
  reported: (state, _request, facts) => reported(state, facts),
  refusal: (state, _request, facts) => ({
    code: `node_condition_${against(state, facts)[0]?.kind ?? 'unknown'}`,
    message: `needs a node with a machine in order and with room, this one reports: ${reported(state, facts)}`,
  }),
};

/** Those that keep work away. */
function against({ node }: NodeState, { clockDoubted }: ClusterFacts): readonly NodeCondition[] {
  const { conditions: all = [] } = node.record;
  return clockDoubted ? all.filter(({ kind }) => kind !== 'clock') : all;
}

function reported(state: NodeState, facts: ClusterFacts): string {
  return (
    against(state, facts)
      .map(({ message }) => message)
      .join('; ') || 'in order'
  );
}
