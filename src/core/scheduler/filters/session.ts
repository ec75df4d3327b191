import type { NodeState } from '../node-state.ts';
import type { Filter } from './filter.ts';

/** Only a ready node takes new work; without a session nobody could start the container. */
export const session: Filter = {
  name: 'session',
  scope: 'node',
  steady: true,
  admits: ({ node }) =>
    node.liveness?.status === 'ready' && node.connected && node.record.notReady === undefined,
  required: () => 'ready, with a connected agent',
  reported,
  refusal: (state) => ({
    code: code(state),
    message: `needs a ready node with a connected agent, this one is ${reported(state)}`,
  }),
};

function code({ node }: NodeState): string {
  if (node.liveness === undefined) return 'node_never_connected';
  if (node.liveness.status === 'failed') return 'node_failed';
  return node.connected ? 'node_not_ready' : 'node_disconnected';
}

function reported({ node }: NodeState): string {
  if (node.liveness === undefined) return 'enrolled, but its agent never connected';
  const agent = node.connected ? 'agent connected' : 'agent not connected';
  const { status, reason } = node.liveness;
  if (status === 'ready' && node.record.notReady !== undefined)
    return `not ready (${node.record.notReady}), ${agent}`;
  return `${status}${reason === undefined ? '' : ` (${reason})`}, ${agent}`;
}
