import type { Filter } from './filter.ts';

export const excluded: Filter = {
  name: 'excluded',
  scope: 'occupancy',
  steady: true,
  admits: (state, request) => request.exclude?.has(state.name) !== true,
  required: ({ exclude }) => {
    const names = [...(exclude?.keys() ?? [])];
    return names.length === 0 ? 'any node' : `another node than ${names.join(', ')}`;
  },
  reported: (state, request) => request.exclude?.get(state.name) ?? state.name,
  refusal: (state, request) => ({
    code: 'node_left_out',
    message: `not this node: ${request.exclude?.get(state.name)}`,
  }),
};
