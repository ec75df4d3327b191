import type { Warning } from '../../../core/model/announcement.ts';
import type { CanaryRecord } from '../../../core/model/canary.ts';
import { standingWays } from '../../../core/model/ingress.ts';
import { canaryAbortedEvent } from '../../../core/plan/rollout/planned-event.ts';
import type { CANARIES } from '../../../core/operations/canaries.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { canaryNotFound } from '../../reads/canary.ts';
import { canaryView } from '../../reads/canary.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from './deployment-write.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { readmitSpec } from '../backups/readmit-spec.ts';

function unproven(tenant: TenantStore, name: string, canary: Stored<CanaryRecord>): readonly Warning[] {
  const { replicas, status } = canaryView(tenant, name, canary.record);
  if (status.healthy >= replicas) return [];
  const why = `${status.healthy} of ${replicas} instances of the canary are healthy; the rollout keeps the old ones until the new ones are.`;
  return [{ code: 'canary_not_healthy', field: 'name', why }];
}

/**
 * The canary's spec becomes the deployment's: a write like any other, rolled out like any other. Its instances are of that spec and
 * stay. `replicas`, `update`, who may connect and what comes in are those of the deployment now.
 */
export async function promoteCanary(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof CANARIES.promote>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, async () => {
    const { stored, field } = findDeployment(tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const { spec, specHash } = stored.record;
    const { name } = spec;
    const canary = tenant.get('canaries', idOf('canaries', name));
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    // Of the canary is what its own answers name.
    if (outdated && (canary === undefined || revisionRejection(ifMatch, canary.modRevision))) return outdated;
    // One that was started beside another spec is about to be aborted.
    if (canary === undefined || canary.record.stableSpecHash !== specHash) return canaryNotFound(nameOrId);
    const { update: _started, access: _former, ingress, ...promoted } = canary.record.spec;
    const attempt = await readmitSpec(admission, caller, {
      spec: {
        ...promoted,
        replicas: spec.replicas,
        ...(spec.update && { update: spec.update }),
        ...standingWays({ ...(ingress && { ingress }) }, spec),
      },
      ...(canary.record.imageDigest === undefined ? {} : { wantedDigest: canary.record.imageDigest }),
      previous: stored,
      change: 'updated',
      dryRun: false,
      chosenBy: 'name',
      details: { canary: canary.record.specHash },
      warnings: unproven(tenant, name, canary),
      endsCanary: true,
    });
    if (!('transaction' in attempt)) return attempt;
    const { transaction } = attempt;
    const subject = { kind: 'Deployment', name } as const;
    transaction.expect('canaries', idOf('canaries', name), canary).delete('canaries', idOf('canaries', name));
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'deployment.canary_promoted',
      subject,
      message: `the canary of ${name} is promoted: ${canary.record.spec.image} is rolled out`,
      details: {
        image: canary.record.spec.image,
        specHash: canary.record.specHash,
        stableSpecHash: specHash,
      },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'deployment.canary-promoted', subject);
    return attempt;
  });
}

const REQUESTED = { reason: 'requested', message: 'that was asked for' } as const;

const aborted = acceptedOf<typeof CANARIES.abort>();

export async function abortCanary(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
): Promise<Outcome<typeof CANARIES.abort>> {
  const { tenant } = caller;
  return commitAttempts(admission, caller, () => {
    const { stored, field } = findDeployment(tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const { name } = stored.record.spec;
    const canary = tenant.get('canaries', idOf('canaries', name));
    if (canary === undefined) return canaryNotFound(nameOrId);
    const transaction = tenant
      .transaction()
      .expect('canaries', idOf('canaries', name), canary)
      .delete('canaries', idOf('canaries', name));
    admission.journal.event(transaction, tenant.tenantId, canaryAbortedEvent(name, canary.record, REQUESTED));
    const subject = { kind: 'Deployment', name } as const;
    admission.journal.audit(transaction, tenant.tenantId, caller, 'deployment.canary-aborted', subject);
    const body = { ...canaryView(tenant, name, canary.record), alterations: [], warnings: [], removed: [] };
    return { answer: aborted(200, body), transaction };
  });
}
