import { describe, expect, it } from 'vitest';
import { deploymentBody } from '../contract/deployment-body.ts';
import { draftOfBody } from '../contract/deployment-merge.ts';
import type { SecretWriteDraft } from '../contract/secret-draft.ts';
import { checkBody } from '../schema/shape.ts';
import { DEFAULT_SECRET_POLICY } from '../model/secret-limits.ts';
import { CATALOGUE, isRejectionCode, type RejectionCode } from '../rejections/catalogue.ts';
import { parseExample } from '../rejections/example.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { deploymentRules } from './deployment.ts';
import { firstRejection, type Limits } from './rule.ts';
import { secretWriteRules } from './secrets/write.ts';

/** The printed examples are promises: the refused one is refused with its code, the corrected one is not refused. */

const LIMITS: Limits = {
  maxReplicasPerDeployment: 100,
  reservedNames: ['etcd', 'berth-etcd'],
  secretPolicy: DEFAULT_SECRET_POLICY,
  regions: [{ name: 'eu', countries: ['DE', 'FR'] }],
  volumesEnabled: true,
};

/** Bodies of other records, and bodies that are refused only because of stored state or configuration. */
const NOT_DECIDED_HERE = new Set(
  `anchored_secret_dropped anchored_secret_repointed image_not_found node_candidates_unresolvable
  node_not_a_placement_candidate secret_anchor_volume_ephemeral volume_access_mode_conflict volume_binding_unavailable
  volume_binds_nested volume_class_not_wired volume_not_found volume_primary_mismatch volume_residency_conflict
  secret_entries_too_many secret_value_too_long field_too_large node_invalid
  canary_already_exists canary_invalid container_defaults_invalid dvm_recommendation_apply_invalid_spec dvm_recommendation_bad_parameter
  dvm_recommendation_insufficient_nodes dvm_recommendation_stale_measurement dvm_recommendation_unknown_action
  ingress_host_taken job_before_deployment_not_found job_invalid job_node_candidates_unresolvable job_node_not_found network_driver_unsupported network_name_invalid
  network_node_not_a_candidate network_node_required network_option_unsupported_on_agent node_name_invalid quota_invalid
  scaling_policy_invalid tenant_name_invalid volume_class_unknown volume_host_path_invalid volume_name_invalid
  volume_size_invalid volume_type_unknown`.split(/\s+/),
);

type Body = Readonly<Record<string, unknown>>;

function bodyOf(text: string): Body {
  return parseExample(text).body as Body;
}

/** Examples are fragments; what they leave out is filled in, except what the code is about. */
function deploymentRejection(code: RejectionCode, fragment: Body): Rejection | undefined {
  const name = code === 'name_required' ? {} : { name: 'web' };
  const body: Body = { ...name, image: 'registry.internal:5000/shop/web:1.4.2', replicas: 1, ...fragment };
  return (
    checkBody(deploymentBody, body) ??
    firstRejection(deploymentRules, { draft: draftOfBody(body), limits: LIMITS })
  );
}

function secretWriteRejection(body: SecretWriteDraft): Rejection | undefined {
  for (const rule of secretWriteRules) {
    const rejection = rule(body, DEFAULT_SECRET_POLICY);
    if (rejection) return rejection;
  }
  return undefined;
}

function rejectionOf(code: RejectionCode, body: Body): Rejection | undefined {
  const write = 'generate' in body || 'values' in body;
  return write ? secretWriteRejection(body) : deploymentRejection(code, body);
}

const decided = Object.keys(CATALOGUE)
  .filter(isRejectionCode)
  .filter((code) => CATALOGUE[code].failing.startsWith('{') && !NOT_DECIDED_HERE.has(code));

describe('the examples of the catalogue', () => {
  it.each(decided)('%s', (code) => {
    const { failing, corrected } = CATALOGUE[code];
    expect(rejectionOf(code, bodyOf(failing))?.code).toBe(code);
    if (corrected.startsWith('{')) expect(rejectionOf(code, bodyOf(corrected))).toBeUndefined();
  });

  it('are checked for most of the rules', () => {
    expect(decided.length).toBeGreaterThanOrEqual(55);
    expect([...NOT_DECIDED_HERE].filter((code) => !isRejectionCode(code))).toEqual([]);
  });
});
