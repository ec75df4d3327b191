import type { NodeState } from '../node-state.ts';
import type { Filter } from './filter.ts';

export const schedulable: Filter = {
  name: 'schedulable',
  scope: 'node',
  steady: true,
  admits: ({ name, node }, { volumes = [] }) =>
    (node.record.schedulable && node.record.draining !== true) ||
    volumes.some(({ stays, nodes }) => stays === true && nodes.includes(name)),
  required: () => 'open for new work',
  reported,
  refusal: (state) => ({
    code: state.node.record.draining === true ? 'node_draining' : 'node_cordoned',
    message: `needs a node that is open for new work, this one is ${reported(state)}`,
  }),
};

function reported({ node }: NodeState): string {
  if (node.record.draining === true) return 'being drained';
  return node.record.schedulable ? 'open for new work' : 'cordoned';
}
