import { type backupBody } from '../../../core/contract/order-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import {
  BACKUP_CONTENT_BYTES,
  BACKUP_REVISIONS,
  type BackupCanary,
  type BackupRecord,
} from '../../../core/model/backup.ts';
import type { CanaryRecord } from '../../../core/model/canary.ts';
import { optional } from '../../../core/model/values.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../../core/model/deployment.ts';
import type { ArchiveRecord } from '../../../core/model/event.ts';
import { policyOf } from '../../../core/model/scaling.ts';
import { pinOf } from '../../../core/model/spec-snapshot.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { BACKUPS } from '../../../core/operations/backups.ts';
import { actorName } from '../../journal/journal.ts';
import { archiveId } from '../../store/deployment-rows.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { backupTransaction, jsonBytes } from './backup-stored.ts';
import { findDeployment } from '../../reads/deployment.ts';

function canaryOf({ replicas, weight, spec, imageDigest }: CanaryRecord): BackupCanary {
  return { replicas, ...optional('weight', weight), spec, ...pinOf(imageDigest) };
}

async function history(
  tenant: TenantStore,
  { spec, version }: DeploymentRecord,
  canary: BackupCanary | null,
): Promise<{ readonly revisions: readonly ArchiveRecord<DeploymentSpec>[]; readonly found: number }> {
  const { entries } = await tenant.archives(spec.name, {
    after: archiveId(spec.name, Math.max(0, version - BACKUP_REVISIONS)),
    limit: BACKUP_REVISIONS,
  });
  let left = BACKUP_CONTENT_BYTES - jsonBytes(spec) - (canary === null ? 0 : jsonBytes(canary));
  const kept: ArchiveRecord<DeploymentSpec>[] = [];
  for (const { record } of entries.toReversed()) {
    left -= jsonBytes(record);
    if (left < 0) break;
    kept.push(record);
  }
  return { revisions: kept.toReversed(), found: entries.length };
}

function cutWarning(kept: number, found: number): readonly Warning[] {
  if (kept === found) return [];
  return [
    {
      code: 'backup_history_cut',
      field: 'content.revisions',
      why: `The newest ${kept} of ${found} versions are in the backup; with the older ones it would be larger than ${BACKUP_CONTENT_BYTES / 1024} KiB.`,
    },
  ];
}

const accepted = acceptedOf<typeof BACKUPS.create>();

export async function createBackup(
  admission: Admission,
  caller: Caller,
  { deploymentName }: Draft<typeof backupBody>,
): Promise<Outcome<typeof BACKUPS.create>> {
  if (deploymentName === undefined || deploymentName === '') {
    return reject('name_required', {
      field: 'deploymentName',
      received: received(deploymentName),
      expected: 'the name of a deployment of this tenant',
      why: 'A backup is made of one deployment.',
    });
  }
  return commitAttempts(admission, caller, async () => {
    const { stored } = findDeployment(caller.tenant, deploymentName);
    if (stored === undefined) {
      return reject('deployment_not_found', {
        field: 'deploymentName',
        received: received(deploymentName),
        expected: 'the name of a deployment of this tenant',
        why: 'The tenant has no deployment of this name.',
      });
    }
    const { spec, version, specHash } = stored.record;
    const id = idOf('scaling-policies', spec.name);
    const policy = caller.tenant.get('scaling-policies', id);
    const running = caller.tenant.get('canaries', id);
    const canary = running === undefined ? null : canaryOf(running.record);
    const { revisions, found } = await history(caller.tenant, stored.record, canary);
    const record: BackupRecord = {
      id: admission.ids.next('backup'),
      deploymentName: spec.name,
      version,
      specHash,
      createdAt: admission.clock.now().toISOString(),
      createdBy: actorName(caller),
      content: {
        spec,
        ...pinOf(stored.record.imageDigest),
        scalingPolicy: policy === undefined ? null : policyOf(policy.record),
        canary,
        revisions,
      },
    };
    // The archive only changes together with the deployment, so these guards make everything in it one point in time.
    const transaction = backupTransaction(admission, caller, record, 'created')
      .expect('deployments', id, stored)
      .expect('scaling-policies', id, policy)
      .expect('canaries', id, running);
    const body = { ...record, alterations: [], warnings: cutWarning(revisions.length, found), removed: [] };
    return { answer: accepted(201, body), transaction };
  });
}
