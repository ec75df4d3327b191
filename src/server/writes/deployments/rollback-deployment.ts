import { type rollbackBody } from '../../../core/contract/order-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { ArchiveRecord } from '../../../core/model/event.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import type { TenantStore } from '../../store/store.ts';
import { type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from './deployment-write.ts';
import { revisionRejection } from '../if-match.ts';
import { readmitSpec } from '../backups/readmit-spec.ts';
import type { UpdateOptions } from './update-deployment.ts';

/** Larger numbers have no place in the key order of the archive, and no deployment reaches them. */
const LAST_VERSION = 999_999_999;

export async function findArchiveVersion(
  tenant: TenantStore,
  name: string,
  version: number,
): Promise<ArchiveRecord<DeploymentSpec> | undefined> {
  if (!Number.isInteger(version) || version < 1 || version > LAST_VERSION) return undefined;
  return tenant.archived(name, version);
}

export function archiveVersionNotFound(field: 'version' | 'from' | 'to', version: unknown): Rejection {
  return reject('archive_version_not_found', {
    field,
    received: received(version),
    why: 'The archive of this deployment has no such version.',
  });
}

export async function rollbackDeployment(
  admission: Admission,
  caller: Caller,
  nameOrId: string,
  { version }: Draft<typeof rollbackBody>,
  { dryRun, ifMatch, plan }: UpdateOptions,
): Promise<Outcome<typeof DEPLOYMENTS.rollback>> {
  if (version === undefined) {
    return reject('field_type_invalid', {
      field: 'version',
      received: '(absent)',
      expected: 'integer: a version listed by GET /api/v1/archives/deployments/{name}',
      why: 'A rollback names the version whose spec is to be stored again.',
    });
  }
  return commitAttempts(admission, caller, async () => {
    const { stored, field } = findDeployment(caller.tenant, nameOrId);
    if (stored === undefined) return deploymentNotFound(field, nameOrId);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const archived = await findArchiveVersion(caller.tenant, stored.record.spec.name, version);
    if (archived === undefined) return archiveVersionNotFound('version', version);
    return readmitSpec(admission, caller, {
      spec: archived.spec,
      ...(archived.imageDigest === undefined ? {} : { wantedDigest: archived.imageDigest }),
      previous: stored,
      change: 'rolled-back',
      dryRun,
      ...(plan !== undefined && { plan }),
      chosenBy: 'version',
      details: { replaced: stored.record.version, restored: version },
    });
  });
}
