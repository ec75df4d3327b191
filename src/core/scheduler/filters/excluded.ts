import type { Filter } from './filter.ts';

export const excluded: Filter = {
  name: 'excluded',
  label: 'left out',
  scope: 'occupancy',
  steady: true,
  admits: (state, request) => request.exclude?.has(state.name) !== true,
  required: () => 'a node that is not left out',
  reported: (state, request) => request.exclude?.get(state.name) ?? 'not left out',
  refusal: (state, request) => ({
    code: 'node_left_out',
    message: `left out for now: ${request.exclude?.get(state.name)}`,
  }),
};
