import type { RejectionCode } from '../../src/core/rejections/catalogue.ts';

/** Codes whose feature has no route yet. A route that lists one of them, or a case that reaches one, fails the run. */
export const PENDING: Readonly<Record<string, readonly RejectionCode[]>> = {
  'the agent channel: told over its socket': ['agent_session_stale'],
  'volume routes': [
    'volume_snapshot_not_found',
    'volume_snapshot_not_implemented',
    'volume_name_invalid',
    'volume_already_exists',
    'volume_class_unknown',
    'volume_type_unknown',
    'volume_size_invalid',
    'volume_host_path_invalid',
    'volume_in_use',
    'volume_replica_conflict',
    'volume_not_replicated',
  ],
  recommendations: [
    'dvm_recommendation_apply_invalid_spec',
    'dvm_recommendation_bad_parameter',
    'dvm_recommendation_insufficient_nodes',
    'dvm_recommendation_not_applicable',
    'dvm_recommendation_not_found',
    'dvm_recommendation_stale_measurement',
    'dvm_recommendation_tenant_required',
    'dvm_recommendation_unknown_action',
    'dvm_recommendation_unknown_priority',
    'dvm_recommendation_unknown_type',
    'dvm_recommendation_volume_missing',
  ],
};
