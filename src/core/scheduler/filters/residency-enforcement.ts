import { constrainsResidency, describeResidency } from '../residency.ts';
import type { Filter } from './filter.ts';

/** With enforcement off nobody vouches for the labels, so a deployment that needs them waits on every node. */
export const residencyEnforcement: Filter = {
  name: 'residency-enforcement',
  scope: 'node',
  steady: true,
  admits: (_state, request, facts) =>
    facts.residencyEnforcement || !constrainsResidency(request.placement?.residency),
  required: (request) =>
    constrainsResidency(request.placement?.residency) ? 'residency enforced' : 'nothing',
  reported: (_state, _request, facts) => (facts.residencyEnforcement ? 'enforced' : 'not enforced'),
  refusal: (_state, request) => ({
    code: 'residency_not_enforced',
    message: `needs ${describeResidency(request.placement?.residency ?? {})}, but this control plane does not enforce residency (scheduler.residencyEnforcement is off)`,
  }),
};
