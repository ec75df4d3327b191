import { nothing } from '../../../core/contract/order-bodies.ts';
import { checkBody } from '../../../core/schema/shape.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import { draftOfBody } from '../../../core/contract/deployment-merge.ts';
import { specOfDraft } from '../../../core/contract/deployment-spec.ts';
import type { BackupContent } from '../../../core/model/backup.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import { pinOf, type Pinned } from '../../../core/model/spec-snapshot.ts';
import { canaryAbortedEvent } from '../../../core/plan/rollout/planned-event.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { scalingPolicyRejection } from '../../../core/rules/scaling-policy.ts';
import type { BACKUPS } from '../../../core/operations/backups.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { type Accepted, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { backupNotFound, findBackup } from '../../reads/backup.ts';
import { type AdmittedSpec, completeWrite } from '../deployments/deployment-write.ts';
import { revisionRejection } from '../if-match.ts';
import { readmitSpec } from './readmit-spec.ts';
import { policyRecord } from '../deployments/scaling-policy.ts';
import { addCanary, admitCanary } from '../deployments/start-canary.ts';
import type { UpdateOptions } from '../deployments/update-deployment.ts';

/** Its bounds may be beyond what this control plane or the quota of the tenant allows. */
function policyRejection(
  admission: Admission,
  { tenant }: Caller,
  { spec, scalingPolicy }: BackupContent,
): Rejection | undefined {
  if (scalingPolicy === null) return undefined;
  const quota = tenant.get('quota', 'quota')?.record ?? {};
  const { maxReplicasPerDeployment } = admission.limits;
  const rejection = scalingPolicyRejection({ policy: scalingPolicy, maxReplicasPerDeployment, spec, quota });
  return rejection && { ...rejection, field: `scalingPolicy.${rejection.field}` };
}

/** A backup is whole: a policy or a canary that it does not hold goes. */
function replacedWarnings({ tenant }: Caller, { spec, scalingPolicy }: BackupContent): Warning[] {
  const id = idOf('canaries', spec.name);
  const running = tenant.get('canaries', id)?.record;
  return [
    ...(scalingPolicy === null && tenant.get('scaling-policies', id) !== undefined
      ? [
          {
            code: 'scaling_policy_removed',
            field: 'scalingPolicy',
            why: `The backup of ${spec.name} has no scaling policy.`,
          },
        ]
      : []),
    ...(running === undefined
      ? []
      : [
          {
            code: 'canary_aborted',
            field: 'canary',
            why: `The canary of ${spec.name} (${running.spec.image}) is aborted by the restore.`,
          },
        ]),
  ];
}

/** The policy and the canary, in the commit of the spec; the canary passes the rules beside the spec that is being restored. */
async function addRestored(
  admission: Admission,
  caller: Caller,
  { spec, scalingPolicy, canary }: BackupContent,
  {
    answer,
    transaction,
  }: { readonly answer: Accepted<typeof BACKUPS.restore>; readonly transaction: Transaction },
): Promise<Rejection | undefined> {
  const { tenant } = caller;
  const id = idOf('scaling-policies', spec.name);
  const policy = tenant.get('scaling-policies', id);
  transaction.expect('scaling-policies', id, policy);
  if (scalingPolicy !== null) {
    transaction.put('scaling-policies', id, policyRecord(admission, scalingPolicy, policy));
  } else if (policy !== undefined) transaction.delete('scaling-policies', id);
  const running = tenant.get('canaries', id);
  transaction.expect('canaries', id, running);
  if (running !== undefined) {
    const why = { reason: 'deployment_changed', message: 'a backup of the deployment was restored' };
    admission.journal.event(transaction, tenant.tenantId, canaryAbortedEvent(spec.name, running.record, why));
  }
  if (canary === null) {
    if (running !== undefined) transaction.delete('canaries', id);
    return undefined;
  }
  const restored = specOfDraft(draftOfBody({ ...answer.body }));
  const admitted = await admitCanary(
    admission,
    caller,
    { spec: restored, ...stableIdentity(answer) },
    {
      field: 'spec',
      changes: wholeSpec(restored, canary.spec),
      replicas: canary.replicas,
      weight: canary.weight,
      ...(canary.imageDigest === undefined ? {} : { wantedDigest: canary.imageDigest }),
    },
  );
  if (isRejection(admitted)) return { ...admitted, field: `canary.${admitted.field}` };
  addCanary(admission, caller, admitted.record, transaction);
  return completeWrite(admission, caller, ownLabels(admitted.admitted, restored), restored, transaction);
}

function stableIdentity({ body }: Accepted<typeof BACKUPS.restore>): { readonly specHash: string } & Pinned {
  return { specHash: body.specHash, ...pinOf(body.imageDigest) };
}

/** The labels of the stable spec are claimed by its own write; a commit takes each key once. */
function ownLabels(admitted: AdmittedSpec, stable: DeploymentSpec): AdmittedSpec {
  const claimed = new Set(stable.secrets.map(({ vault_path }) => vault_path));
  const secrets = admitted.spec.secrets.filter(({ vault_path }) => !claimed.has(vault_path));
  return { ...admitted, spec: { ...admitted.spec, secrets } };
}

/** As changes of the stable spec: what the canary's does not hold is cleared, and the rotation counter is the deployment's. */
function wholeSpec(stable: DeploymentSpec, { secretsVersion: _counter, ...canary }: DeploymentSpec) {
  const cleared = Object.keys(stable).filter(
    (field) => !Object.hasOwn(canary, field) && field !== 'secretsVersion',
  );
  return { ...canary, ...Object.fromEntries(cleared.map((field) => [field, null])) };
}

/** No body, or an empty one: a field in it would mean something that a restore does not do. */
export function restoreBodyRejection(body: unknown): Rejection | undefined {
  const rejection = body === undefined ? undefined : checkBody(nothing, body);
  if (rejection?.code !== 'field_unknown') return rejection;
  return {
    ...rejection,
    expected: 'no body',
    why: 'A backup is restored whole and under the name of its deployment.',
  };
}

/** Creates the deployment when it is gone, else replaces its spec whole; all rules are re-checked. */
export async function restoreBackup(
  admission: Admission,
  caller: Caller,
  id: string,
  { dryRun, ifMatch }: UpdateOptions,
): Promise<Outcome<typeof BACKUPS.restore>> {
  return commitAttempts(admission, caller, async () => {
    const backup = await findBackup(caller.tenant, id);
    if (backup === undefined) return backupNotFound(id);
    const { deploymentName, createdAt, version, content } = backup.record;
    const previous = caller.tenant.get('deployments', idOf('deployments', deploymentName));
    if (ifMatch !== undefined && previous === undefined) {
      return reject('revision_mismatch', {
        field: 'If-Match',
        received: received(ifMatch === 'any' ? '*' : ifMatch.join(', ')),
        expected: 'no If-Match: the deployment does not exist',
        why: `There is no deployment ${deploymentName} whose revision could match.`,
      });
    }
    const outdated = previous && revisionRejection(ifMatch, previous.modRevision);
    if (outdated) return outdated;
    const refused = policyRejection(admission, caller, content);
    if (refused) return refused;
    const attempt = await readmitSpec(admission, caller, {
      spec: content.spec,
      ...(content.imageDigest === undefined ? {} : { wantedDigest: content.imageDigest }),
      previous,
      change: 'restored',
      dryRun,
      chosenBy: 'id',
      details: { backupId: id, backupCreatedAt: createdAt, backupVersion: version },
      warnings: replacedWarnings(caller, content),
      policy: content.scalingPolicy,
      endsCanary: true,
    });
    if ('transaction' in attempt) {
      const failed = await addRestored(admission, caller, content, attempt);
      if (failed) return failed;
      const subject = { kind: 'Backup', name: id } as const;
      admission.journal.audit(
        attempt.transaction,
        caller.tenant.tenantId,
        caller,
        'backup.restored',
        subject,
      );
    }
    return attempt;
  });
}
