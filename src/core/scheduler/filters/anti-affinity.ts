import type { NodeState } from '../node-state.ts';
import type { PlacementRequest } from '../request.ts';
import type { ClusterFacts, Filter } from './filter.ts';

/**
 * Holds in both directions although only one side declares it: "web does not share a node with db" would otherwise depend on
 * which of the two was placed first.
 */
export const antiAffinity: Filter = {
  name: 'anti-affinity',
  scope: 'occupancy',
  steady: true,
  admits: (state, request, facts) => {
    for (const name of request.placement?.antiAffinity ?? []) {
      if (facts.instancesOn(state, name) > 0) return false;
    }
    return !facts.isRefusedOn(state, request.deployment);
  },
  required: (request) => {
    const names = request.placement?.antiAffinity ?? [];
    return names.length === 0 ? 'nothing' : `no instance of ${names.join(', ')}`;
  },
  reported: (state, request, facts) => {
    const names = [
      ...new Set([...unwanted(state, request, facts), ...facts.refusersOn(state, request.deployment)]),
    ];
    return names.length === 0 ? 'none of them' : `runs ${names.sort().join(', ')}`;
  },
  refusal: (state, request, facts) => {
    const here = unwanted(state, request, facts);
    const refusers = facts.refusersOn(state, request.deployment).filter((name) => !here.includes(name));
    const sentences = [
      ...(here.length > 0 ? [`must not share a node with ${here.join(', ')}, which runs here`] : []),
      ...(refusers.length > 0
        ? [`${refusers.join(', ')} runs here and must not share a node with ${request.deployment}`]
        : []),
    ];
    return {
      code: here.length > 0 ? 'anti_affinity' : 'anti_affinity_of_other',
      message: sentences.join('; '),
    };
  },
};

function unwanted(state: NodeState, request: PlacementRequest, facts: ClusterFacts): readonly string[] {
  return (request.placement?.antiAffinity ?? []).filter((name) => facts.instancesOn(state, name) > 0);
}
