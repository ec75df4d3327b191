import type { Backup } from '../../lib/records.ts';
import type { Client } from '../../../sdk/index.ts';

/** The document as a file; a plain link would not say for which tenant it asks. */
export async function saveExport(
  api: Client,
  { id, deploymentName }: Pick<Backup, 'id' | 'deploymentName'>,
): Promise<void> {
  const exported = await api.call('GET /api/v1/backups/{id}/export', { params: { id } });
  const text = JSON.stringify(exported, null, 2);
  const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = `${deploymentName}-${id}.json`;
  link.click();
  URL.revokeObjectURL(address);
}
