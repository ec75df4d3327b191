import type { BackupRecord, BackupSummary } from '../../../core/model/backup.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Admission, Caller } from '../admission.ts';

export function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

export function backupSummary({ content, ...heading }: BackupRecord): BackupSummary {
  return {
    ...heading,
    image: content.spec.image,
    revisions: content.revisions.length,
    sizeBytes: jsonBytes(content),
  };
}

/** The backup, its line in the list, its event and its audit line. */
export function backupTransaction(
  admission: Admission,
  caller: Caller,
  record: BackupRecord,
  change: 'created' | 'imported',
): Transaction {
  const { tenant } = caller;
  const { id, deploymentName, version, imported } = record;
  const subject = { kind: 'Backup', name: id } as const;
  const transaction = tenant
    .transaction()
    .expectCold('backups', id, undefined)
    .putCold('backups', id, record)
    .putCold('backup-summaries', id, backupSummary(record));
  admission.journal.event(transaction, tenant.tenantId, {
    kind: `backup.${change}`,
    subject,
    message: `${id} ${change}: ${deploymentName} as of version ${version}`,
    details: { deploymentName, version, ...(imported === undefined ? {} : { imported }) },
  });
  admission.journal.audit(transaction, tenant.tenantId, caller, `backup.${change}`, subject);
  return transaction;
}
