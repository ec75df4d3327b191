import type { NodeState } from '../node-state.ts';
import type { ClusterFacts, Filter } from './filter.ts';

/** The control plane's own node takes new placements from the platform only; nothing overrides this. */
export const controlPlane: Filter = {
  name: 'control-plane',
  scope: 'node',
  steady: true,
  admits: (state, _request, facts) => facts.isPlatformTenant || !runsControlPlane(state, facts),
  required: (_request, facts) => (facts.isPlatformTenant ? 'any node' : 'a node without the control plane'),
  reported: (state, _request, facts) =>
    runsControlPlane(state, facts) ? 'runs the control plane' : 'does not run the control plane',
  refusal: () => ({
    code: 'node_runs_control_plane',
    message: 'runs the control plane, which takes new work from the platform tenant only',
  }),
};

function runsControlPlane(state: NodeState, facts: ClusterFacts): boolean {
  return facts.controlPlaneNodes.has(state.name);
}
