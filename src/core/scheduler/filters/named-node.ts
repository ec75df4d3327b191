import type { Filter } from './filter.ts';

export const namedNode: Filter = {
  name: 'named-node',
  scope: 'node',
  steady: true,
  admits: (state, request) => request.nodeId === undefined || state.name === request.nodeId,
  required: (request) => request.nodeId ?? 'any node',
  reported: (state) => state.name,
  refusal: (state, request) => ({
    code: 'node_not_named',
    message: `nodeId names ${request.nodeId}, this is ${state.name}`,
  }),
};
