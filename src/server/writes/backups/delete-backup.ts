import type { BACKUPS } from '../../../core/operations/backups.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { backupNotFound, findBackup } from '../../reads/backup.ts';
import { backupSummary } from './backup-stored.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';

const accepted = acceptedOf<typeof BACKUPS.remove>();

export async function deleteBackup(
  admission: Admission,
  caller: Caller,
  id: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof BACKUPS.remove>> {
  return commitAttempts(admission, caller, async () => {
    const { tenant } = caller;
    const stored = await findBackup(tenant, id);
    if (stored === undefined) return backupNotFound(id);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { deploymentName, version } = stored.record;
    const subject = { kind: 'Backup', name: id } as const;
    const transaction = tenant
      .transaction()
      .expectCold('backups', id, stored)
      .deleteCold('backups', id)
      .deleteCold('backup-summaries', id);
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'backup.deleted',
      subject,
      message: `${id} deleted: ${deploymentName} as of version ${version}`,
      details: { deploymentName, version },
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'backup.deleted', subject);
    const body = { ...backupSummary(stored.record), alterations: [], warnings: [], removed: [] };
    return { answer: accepted(200, body), transaction };
  });
}
