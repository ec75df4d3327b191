import { pinOf } from '../../../core/model/spec-snapshot.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { idOf } from '../../store/record-ids.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { findDeployment, storedDeploymentView } from '../../reads/deployment.ts';
import { deploymentNotFound } from './deployment-write.ts';
import { claimIngress } from '../../placement/ingress-claims.ts';
import { claimVolumes } from '../../placement/volume-claims.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

const accepted = acceptedOf<typeof DEPLOYMENTS.remove>();

/** The spec goes; its archive stays. Instances are stopped by their controller, which sees that nothing wants them. */
export async function deleteDeployment(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof DEPLOYMENTS.remove>> {
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(caller.tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { record } = stored;
    const { name } = record.spec;
    const version = record.version + 1;
    const subject = { kind: 'Deployment', name } as const;
    const transaction = caller.tenant
      .transaction()
      .expect('deployments', idOf('deployments', name), stored)
      .delete('deployments', idOf('deployments', name))
      .delete('deployment-status', idOf('deployment-status', name))
      .delete('scaling-policies', idOf('scaling-policies', name))
      .delete('canaries', idOf('canaries', name))
      .put('last-versions', idOf('last-versions', name), { version });
    if (caller.tenant.get('deployment-ids', record.id) !== undefined)
      transaction.delete('deployment-ids', record.id);
    claimVolumes(caller.tenant, name, { before: record.spec, after: undefined }, transaction);
    claimIngress(caller.tenant, name, { before: record.spec, after: undefined }, transaction);
    admission.journal.archive(transaction, caller, {
      number: version,
      change: 'deleted',
      spec: record.spec,
      specHash: record.specHash,
      ...pinOf(record.imageDigest),
    });
    admission.journal.event(transaction, caller.tenant.tenantId, {
      kind: 'deployment.deleted',
      subject,
      message: `${name} deleted; its history stays in the archive`,
      details: { version },
    });
    admission.journal.audit(transaction, caller.tenant.tenantId, caller, 'deployment.deleted', subject);
    const body = {
      ...storedDeploymentView(admission, caller.tenant, stored),
      alterations: [],
      warnings: [],
      removed: [],
    };
    return { answer: accepted(200, body), transaction };
  });
}
