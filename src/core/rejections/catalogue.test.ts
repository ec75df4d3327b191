import { describe, expect, it } from 'vitest';
import { CATALOGUE, CATALOGUE_AREAS, isRejectionCode, type RejectionCode } from './catalogue.ts';
import { exampleLines, parseExample } from './example.ts';
import { isRejection, reject } from './reject.ts';

/**
 * The public list, frozen: clients branch on these codes and statuses. A code may be added here; one that is
 * renamed, removed or given another status breaks clients.
 */
const FROZEN = {
  '7.1': `
    404: deployment_not_found image_not_found
    422: deployment_name_invalid deployment_name_too_long image_required manifest_wrong_kind name_required
      plaintext_credential_in_environment replicas_negative replicas_out_of_range reserved_infrastructure_name
      secrets_version_negative
    503: registry_credential_store_unavailable
  `,
  '7.2': `
    422: healthcheck_command_missing healthcheck_retries_below_floor healthcheck_timeout_below_floor
      healthcheck_type_inert healthcheck_type_unsupported
  `,
  '7.3': `
    409: anchored_secret_dropped anchored_secret_repointed rotation_transition_invalid
    422: secret_anchor_invalid secret_anchor_volume_ephemeral secret_anchor_volume_not_declared
      secret_compose_no_reference secret_compose_resource_undeclared secret_compose_template_empty
      secret_compose_template_malformed secret_generate_below_entropy_floor secret_generate_bytes_out_of_range
      secret_generate_axis_conflict secret_generate_charset_unknown secret_generate_encoding_unknown secret_generate_key_duplicate
      secret_generate_keys_required secret_generate_length_out_of_range secret_key_invalid
      secret_key_provided_and_generated secret_mount_path_unsupported secret_name_invalid secret_path_name
      secret_path_namespace secret_path_namespace_split secret_path_shape secret_rotation_unsupported
      secret_value_empty secret_value_too_long secret_vault_path_not_relative secret_vault_path_required
      secret_write_empty
    500: secret_generate_would_persist secret_material_would_persist
  `,
  '7.4': `
    400: node_claim_release_no_tenant
    404: job_node_not_found
    409: node_owned_by_another_tenant
    422: network_node_not_a_candidate network_node_required network_option_unsupported_on_agent
      node_not_a_placement_candidate
    422/503: job_node_candidates_unresolvable network_node_candidates_unresolvable
      node_candidates_unresolvable
  `,
  '7.5': `
    400: dvm_recommendation_tenant_required query_parameter_unknown
    404: dvm_recommendation_not_found volume_not_found volume_snapshot_not_found
    409: dvm_recommendation_not_applicable dvm_recommendation_stale_measurement volume_access_mode_conflict
      volume_not_ready volume_primary_mismatch
    410: dvm_recommendation_volume_missing
    422: dvm_recommendation_apply_invalid_spec dvm_recommendation_bad_parameter
      dvm_recommendation_insufficient_nodes dvm_recommendation_unknown_action
      dvm_recommendation_unknown_priority dvm_recommendation_unknown_type volume_class_not_wired
      volume_mount_shape
    501: volume_snapshot_not_implemented
    503: volume_binding_unavailable
  `,
  extension: `
    400: body_malformed body_too_deep header_duplicate header_invalid query_parameter_invalid
    401: join_token_invalid unauthenticated
    403: csrf_token_invalid origin_forbidden role_forbidden tenant_forbidden
    404: archive_version_not_found backup_not_found canary_not_found ingress_host_not_found instance_not_found job_before_deployment_not_found job_not_found job_run_not_found
      network_not_found node_not_found route_not_found scaling_policy_not_found secret_not_found
      tenant_not_found token_not_found webhook_dead_letter_not_found webhook_not_found
    405: method_not_allowed
    409: agent_outdated agent_session_stale agent_version_unsupported anchored_secret_overwritten canary_already_exists deployment_already_exists idempotency_key_conflict ingress_certificate_not_issued ingress_host_taken instance_not_running job_already_exists
      job_already_running job_not_running
      network_already_exists network_in_use network_node_mismatch node_already_enrolled node_in_use node_key_not_renewed quota_exceeded rotation_hook_failed rotation_rollout_incomplete
      rotation_whole_credential
      secret_in_use secret_rotation_in_progress
      tenant_already_exists tenant_in_use volume_already_exists volume_in_use volume_not_replicated volume_promote_refused
      volume_replica_conflict volume_residency_conflict webhook_already_exists
    412: plan_outdated revision_mismatch
    413: body_too_large
    415: content_type_unsupported
    422: secret_values_in_document access_invalid access_source_unknown apply_dry_run_only backup_invalid canary_invalid capability_unknown command_invalid container_defaults_invalid depends_on_cycle depends_on_invalid document_described_twice environment_invalid
      field_too_large field_type_invalid field_unknown file_invalid healthcheck_duration_invalid image_policy_invalid
      image_signature_invalid image_unsigned ingress_invalid job_invalid label_reserved
      labels_invalid name_mismatch network_driver_unsupported network_name_invalid networks_invalid node_invalid node_name_invalid
      placement_invalid ports_invalid quota_invalid residency_country_invalid residency_label_conflict residency_label_handwritten
      residency_region_undeclared resources_invalid rotation_hook_invalid scaling_policy_invalid secret_environment_collision
      secret_entries_too_many secret_generate_alternate_invalid secret_name_duplicate signal_invalid stop_invalid tenant_name_invalid token_invalid
      update_invalid user_invalid volume_class_unknown
      volume_binds_nested volume_host_path_invalid volume_name_invalid volume_size_invalid volume_type_unknown webhook_invalid
    426: upgrade_required
    429: answers_unread rate_limited stream_limit_reached
    429/503: connection_limit_reached
    500: internal_error
    503/502: cell_unavailable
    503: agent_unreachable cell_unknown certificate_not_revoked exec_unavailable image_signature_unverifiable memory_low secrets_sealed secrets_store_forbidden
      secrets_store_unavailable
      secrets_store_unusable store_unavailable
  `,
} as const;

interface Frozen {
  readonly code: string;
  readonly statuses: string;
  readonly origin: string;
}

const frozen: readonly Frozen[] = Object.entries(FROZEN).flatMap(([origin, text]) => {
  let statuses = '';
  const list: Frozen[] = [];
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    if (word.endsWith(':')) statuses = word.slice(0, -1);
    else list.push({ code: word, statuses, origin });
  }
  return list;
});

const codes = Object.keys(CATALOGUE).filter(isRejectionCode);

function statusesOf(code: RejectionCode): string {
  const { status, alsoStatus } = CATALOGUE[code];
  return alsoStatus === undefined ? `${status}` : `${status}/${alsoStatus}`;
}

describe('the catalogue', () => {
  it('is exactly the frozen list, with its statuses and origins', () => {
    const actual = codes.map((code) => ({
      code,
      statuses: statusesOf(code),
      origin: CATALOGUE[code].origin,
    }));
    const order = (a: Frozen, b: Frozen): number => (a.code < b.code ? -1 : 1);
    expect([...actual].sort(order)).toEqual([...frozen].sort(order));
  });

  it('holds the 83 codes of the specification', () => {
    const bySection = Object.groupBy(frozen, (entry) => entry.origin);
    const counts = Object.entries(bySection).map(([origin, list]) => [origin, list?.length]);
    expect(Object.fromEntries(counts)).toMatchObject({
      '7.1': 13,
      '7.2': 5,
      '7.3': 34,
      '7.4': 10,
      '7.5': 21,
    });
  });

  it('has every code in exactly one area', () => {
    const inAreas = CATALOGUE_AREAS.flatMap((area) => area.codes);
    expect([...inAreas].sort()).toEqual([...codes].sort());
    expect(new Set(CATALOGUE_AREAS.map((area) => area.slug)).size).toBe(CATALOGUE_AREAS.length);
  });

  it('gives every family of codes the status of its kind', () => {
    for (const code of codes) {
      const { status, alsoStatus } = CATALOGUE[code];
      if (code.endsWith('_not_found')) expect([code, status]).toEqual([code, 404]);
      // 409 is a conflict with what is stored; two fields of one body that exclude each other are not.
      const withinBody = ['residency_label_conflict', 'secret_generate_axis_conflict'].includes(code);
      if (code.endsWith('_conflict') || code.endsWith('_already_exists'))
        expect([code, status]).toEqual([code, withinBody ? 422 : 409]);
      if (code.endsWith('_would_persist')) expect([code, status]).toEqual([code, 500]);
      if (code.endsWith('_candidates_unresolvable')) expect([code, alsoStatus]).toEqual([code, 503]);
    }
  });

  it('knows its codes and nothing that objects inherit', () => {
    expect(isRejectionCode('name_required')).toBe(true);
    expect(isRejectionCode('constructor')).toBe(false);
    expect(isRejectionCode('__proto__')).toBe(false);
  });
});

it('names both forms of a body, because its text alone does not say which one it was to be', () => {
  expect(CATALOGUE.body_malformed.accepted).toMatch(/JSON.*YAML.*UTF-8/);
});

it('sends who looks for a secret to the list that has those nothing refers to', () => {
  expect(CATALOGUE.secret_not_found.accepted).toContain('listed by GET /api/v1/secrets;');
});

describe.each(codes)('%s', (code) => {
  const entry = CATALOGUE[code];

  it('writes the ids of tokens as they are', () => {
    expect(`${entry.failing}${entry.corrected}`).not.toContain('tok_');
  });

  it('has complete texts', () => {
    expect(code).toMatch(/^[a-z]+(_[a-z0-9]+)*$/);
    for (const text of [
      entry.field,
      entry.title,
      entry.cause,
      entry.accepted,
      entry.failing,
      entry.corrected,
    ]) {
      expect(text.trim()).toBe(text);
      expect(text).not.toBe('');
    }
    expect(entry.title).toMatch(/^[A-Za-z].*\.$/);
    expect(entry.title.length).toBeLessThanOrEqual(110);
    expect(entry.cause).toMatch(/[.)]$/);
    expect(entry.accepted).not.toMatch(/\.$/);
    expect(entry.cause.split('`').length % 2).toBe(1);
    expect(`${entry.title}${entry.accepted}`).not.toContain('`');
    expect(entry.failing).not.toBe(entry.corrected);
  });

  it('has examples that parse', () => {
    for (const text of [entry.failing, entry.corrected]) {
      const example = parseExample(text);
      if (/^[{[]/.test(text)) expect(example.body).toEqual(JSON.parse(text));
      expect(exampleLines(text).length).toBeGreaterThan(0);
    }
  });

  it('prints no text in the form of a real credential', () => {
    const all = `${entry.cause} ${entry.accepted} ${entry.failing} ${entry.corrected}`;
    expect(all).not.toMatch(/berth_(pat|join|node)_|AKIA|ghp_|eyJ|BEGIN [A-Z ]*PRIVATE KEY/);
    expect(all).not.toMatch(/:\/\/[^/\s"{]+:[^{/\s"@]+@/);
  });
});

describe('reject', () => {
  it('takes the accepted form as expected unless told otherwise', () => {
    const parts = { field: 'name', received: '(absent)', why: 'The name is missing.' };
    expect(reject('name_required', parts).expected).toBe(CATALOGUE.name_required.accepted);
    expect(reject('name_required', { ...parts, expected: 'this' }).expected).toBe('this');
  });

  it('makes values that are told apart from records', () => {
    const rejection = reject('name_required', { field: 'name', received: '(absent)', why: 'missing' });
    expect(isRejection(rejection)).toBe(true);
    expect(isRejection({ code: 'name_required' })).toBe(false);
    expect(isRejection(null)).toBe(false);
    expect(isRejection('name_required')).toBe(false);
  });
});
