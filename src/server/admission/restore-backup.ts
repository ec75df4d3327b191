import { checkBody, shape } from '../../core/contract/shape.ts';
import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import { secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { joinId } from '../store/keys.ts';
import { type Admission, type Caller, commitAttempts, type Outcome } from './admission.ts';
import { backupNotFound, findBackup } from './backup-stored.ts';
import { revisionRejection } from './if-match.ts';
import { readmitSpec } from './readmit-spec.ts';
import type { UpdateOptions } from './update-deployment.ts';

/** A backup holds references only: in another tenant or control plane, what they point to may have to be written first. */
async function missingSecrets(
  { secrets }: Admission,
  { tenant }: Caller,
  spec: DeploymentSpec,
): Promise<Warning[]> {
  const warnings: Warning[] = [];
  for (const [index, { vault_path }] of spec.secrets.entries()) {
    const path = splitSecretPath(vault_path);
    if (path === undefined) continue;
    const metadata = await secrets.store.metadata(tenant.tenantId, path);
    // A store that is away says nothing of the others either; the delivery asks again and fails closed.
    if (!metadata.ok) break;
    if (metadata.exists) continue;
    warnings.push({
      code: 'secret_missing',
      field: `secrets[${index}].vault_path`,
      why: `${secretPathText(path)} has not been written; ${spec.name} gets no container until it is.`,
    });
  }
  return warnings;
}

export const restoreBody = shape({ type: 'object', fields: {} });

/** No body, or an empty one: a field in it would mean something that a restore does not do. */
export function restoreBodyRejection(body: unknown): Rejection | undefined {
  const rejection = body === undefined ? undefined : checkBody(restoreBody, body);
  if (rejection?.code !== 'field_unknown') return rejection;
  return {
    ...rejection,
    expected: 'no body',
    why: 'A backup is restored whole and under the name of its deployment.',
  };
}

/** Creates the deployment when it is gone, else replaces its spec whole; every rule is asked again. */
export async function restoreBackup(
  admission: Admission,
  caller: Caller,
  id: string,
  { dryRun, ifMatch }: UpdateOptions,
): Promise<Outcome> {
  return commitAttempts(admission, caller, async () => {
    const backup = await findBackup(caller.tenant, id);
    if (backup === undefined) return backupNotFound(id);
    const { deploymentName, createdAt, version, content } = backup.record;
    const previous = caller.tenant.get('deployments', joinId(deploymentName));
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
    const attempt = await readmitSpec(admission, caller, {
      spec: content.spec,
      previous,
      change: 'restored',
      dryRun,
      chosenBy: 'id',
      details: { backupId: id, backupCreatedAt: createdAt, backupVersion: version },
      warnings: await missingSecrets(admission, caller, content.spec),
    });
    if ('transaction' in attempt) {
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
