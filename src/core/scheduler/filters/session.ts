import type { NodeState } from '../node-state.ts';
import type { Filter } from './filter.ts';

/** Only a ready node takes new work; without a session nobody could start the container. */
export const session: Filter = {
  name: 'session',
  scope: 'node',
  steady: true,
  admits: ({ node }) => node.liveness?.status === 'ready' && node.connected,
  required: () => 'ready, with a connected agent',
  reported,
  refusal: (state) => ({
    code: code(state),
    message: `needs a ready node with a connected agent, this one is ${reported(state)}`,
  }),
};

function code({ node }: NodeState): string {
  if (node.liveness === undefined) return 'node_never_connected';
  return node.liveness.status === 'failed' ? 'node_failed' : 'node_disconnected';
}

function reported({ node }: NodeState): string {
  if (node.liveness === undefined) return 'enrolled, but its agent never connected';
  const agent = node.connected ? 'agent connected' : 'agent not connected';
  const why = node.liveness.reason === undefined ? '' : ` (${node.liveness.reason})`;
  return `${node.liveness.status}${why}, ${agent}`;
}
