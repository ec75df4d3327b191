import type { BackupSummary } from '../../../core/model/backup.ts';
import type { ApiClient } from '../../lib/api-client.ts';

export function backupPath(id: string): string {
  return `/api/v1/backups/${encodeURIComponent(id)}`;
}

/** The document as a file; a plain link would not say for which tenant it asks. */
export async function saveExport(
  api: ApiClient,
  { id, deploymentName }: Pick<BackupSummary, 'id' | 'deploymentName'>,
): Promise<void> {
  const response = await api.send('GET', `${backupPath(id)}/export`);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = `${deploymentName}-${id}.json`;
  link.click();
  URL.revokeObjectURL(address);
}
