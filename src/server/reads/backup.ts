import type { BackupRecord } from '../../core/model/backup.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import type { TenantStore } from '../store/store.ts';

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
