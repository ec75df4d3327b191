import type { Backup } from '../../lib/records.ts';
import type { Client } from '../../../sdk/index.ts';
import { saveFile } from '../../lib/save-file.ts';

/** The document as a file; a plain link would not say for which tenant it asks. */
export async function saveExport(
  api: Client,
  { id, deploymentName }: Pick<Backup, 'id' | 'deploymentName'>,
): Promise<void> {
  const exported = await api.call('GET /api/v1/backups/{id}/export', { params: { id } });
  saveFile(`${deploymentName}-${id}.json`, JSON.stringify(exported, null, 2), 'application/json');
}
