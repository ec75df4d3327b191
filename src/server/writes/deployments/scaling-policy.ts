import type { scalingPolicy } from '../../../core/contract/answers/deployment.ts';
import type { Answer } from '../../../core/schema/shape.ts';
import { type ScalingPolicyDraft, withDefaults } from '../../../core/contract/scaling-policy-body.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import { policyOf, type ScalingPolicy, type ScalingPolicyRecord } from '../../../core/model/scaling.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { quotaRoom, scalingPolicyRejection } from '../../../core/rules/scaling-policy.ts';
import type { SCALING_POLICIES } from '../../../core/operations/scaling-policies.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from './deployment-write.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

export function scalingPolicyNotFound(nameOrId: string): Rejection {
  return reject('scaling_policy_not_found', {
    field: 'name',
    received: received(nameOrId),
    why: 'No scaling policy is set for this deployment.',
  });
}

export function scalingPolicyView(
  name: string,
  record: ScalingPolicyRecord,
): Omit<Answer<typeof scalingPolicy>, 'revision' | 'status'> {
  return { deployment: name, ...policyOf(record), createdAt: record.createdAt, updatedAt: record.updatedAt };
}

function quotaWarnings(policy: ScalingPolicy, room: number): readonly Warning[] {
  if (policy.maxReplicas <= room) return [];
  const why = `The quota of the tenant holds ${room} instances of this deployment; the policy goes no further.`;
  return [{ code: 'quota_below_maximum', field: 'maxReplicas', why }];
}

export function policyRecord(
  admission: Admission,
  policy: ScalingPolicy,
  previous: Stored<ScalingPolicyRecord> | undefined,
): ScalingPolicyRecord {
  const now = admission.clock.now().toISOString();
  return { ...policyOf(policy), createdAt: previous?.record.createdAt ?? now, updatedAt: now };
}

const set = acceptedOf<typeof SCALING_POLICIES.set>();
const deleted = acceptedOf<typeof SCALING_POLICIES.remove>();

/** Creates or replaces it whole. The number itself is the controller's to change. */
export async function setScalingPolicy(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  draft: ScalingPolicyDraft,
  ifMatch: IfMatch | undefined,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<Outcome<typeof SCALING_POLICIES.set>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const { spec } = stored.record;
    const { name } = spec;
    const id = idOf('scaling-policies', name);
    const previous = tenant.get('scaling-policies', id);
    const outdated = revisionRejection(ifMatch, previous?.modRevision ?? 0);
    if (outdated) return outdated;
    const { policy, alterations } = withDefaults(draft);
    const quota = tenant.get('quota', 'quota');
    const { defaultRequest } = admission.clusters;
    const { maxReplicasPerDeployment } = admission.limits;
    const rejection = scalingPolicyRejection({
      policy,
      maxReplicasPerDeployment,
      spec,
      quota: quota?.record ?? {},
      defaultRequest,
    });
    if (rejection) return rejection;
    // The rules have established that nothing is missing.
    const record = policyRecord(admission, policy as ScalingPolicy, previous);
    const warnings = quotaWarnings(record, quotaRoom(spec, quota?.record ?? {}, defaultRequest));
    const body = { ...scalingPolicyView(name, record), alterations, warnings, removed: [] };
    const answer = set(previous === undefined ? 201 : 200, body);
    if (dryRun) return { answer, would: () => tenant.transaction().put('scaling-policies', id, record) };
    const subject = { kind: 'Deployment', name } as const;
    const transaction = tenant
      .transaction()
      .expect('deployments', id, stored)
      .expect('scaling-policies', id, previous)
      .expect('quota', 'quota', quota)
      .put('scaling-policies', id, record);
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'deployment.scaling_policy_set',
      subject,
      message: `${name} is kept between ${record.minReplicas} and ${record.maxReplicas} instances, at ${record.targetCpuPercent} % of their CPU`,
      details: { ...policyOf(record) },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'deployment.scaling-policy-set', subject);
    return { answer, transaction };
  });
}

export async function deleteScalingPolicy(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof SCALING_POLICIES.remove>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const { name } = stored.record.spec;
    const policy = tenant.get('scaling-policies', idOf('scaling-policies', name));
    if (policy === undefined) return scalingPolicyNotFound(nameOrId);
    const outdated = revisionRejection(ifMatch, policy.modRevision);
    if (outdated) return outdated;
    const subject = { kind: 'Deployment', name } as const;
    const transaction = tenant
      .transaction()
      .expect('scaling-policies', idOf('scaling-policies', name), policy)
      .delete('scaling-policies', idOf('scaling-policies', name));
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'deployment.scaling_policy_deleted',
      subject,
      message: `${name} has no scaling policy any more and stays at ${stored.record.spec.replicas} instances`,
      details: { replicas: stored.record.spec.replicas },
    });
    admission.journal.audit(
      transaction,
      tenant.tenantId,
      caller,
      'deployment.scaling-policy-deleted',
      subject,
    );
    const body = { ...scalingPolicyView(name, policy.record), alterations: [], warnings: [], removed: [] };
    return { answer: deleted(200, body), transaction };
  });
}
