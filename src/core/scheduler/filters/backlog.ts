import type { Filter } from './filter.ts';

/**
 * Every update replaces instances. Of an agent that removes nothing they would pile up without end, in the store and in every assignment.
 */
export const STOPPING_MOST = 256;

export const backlog: Filter = {
  name: 'backlog',
  scope: 'occupancy',
  steady: false,
  admits: (state) => state.stopping < STOPPING_MOST,
  required: () => `fewer than ${STOPPING_MOST} containers that are still to be removed`,
  reported: (state) => `${state.stopping} to be removed`,
  refusal: (state) => ({
    code: 'node_backlog',
    message: `${state.stopping} containers of earlier versions are still to be removed here; it takes new ones as soon as its agent reports that some are gone`,
  }),
};
