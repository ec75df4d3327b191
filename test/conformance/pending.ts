import type { RejectionCode } from '../../src/core/rejections/catalogue.ts';

/** Codes whose feature has no route yet. A route that lists one of them, or a case that reaches one, fails the run. */
export const PENDING: Readonly<Record<string, readonly RejectionCode[]>> = {
  'the agent channel: told over its socket': ['agent_session_stale'],
  jobs: [
    'job_node_candidates_unresolvable',
    'job_node_not_found',
    'job_invalid',
    'job_not_found',
    'job_already_exists',
  ],
  networks: [
    'network_node_candidates_unresolvable',
    'network_node_not_a_candidate',
    'network_node_required',
    'network_option_unsupported_on_agent',
    'network_name_invalid',
    'network_driver_unsupported',
    'network_not_found',
    'network_already_exists',
    'network_in_use',
  ],
  'scaling policies': ['scaling_policy_invalid', 'scaling_policy_not_found'],
  canaries: ['canary_invalid', 'canary_not_found'],
  'the dashboard session': ['csrf_token_invalid'],
};
