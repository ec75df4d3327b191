import type { BackupRecord, BackupSummary } from '../../core/model/backup.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Admission, Caller } from './admission.ts';

const ID = /^bak_[0-9a-z]{1,40}$/;

export async function findBackup(tenant: TenantStore, id: string): Promise<Stored<BackupRecord> | undefined> {
  return ID.test(id) ? tenant.getCold('backups', id) : undefined;
}

export function backupNotFound(id: string): Rejection {
  return reject('backup_not_found', {
    field: 'id',
    received: received(id),
    why: 'The tenant has no backup of this id.',
  });
}

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
