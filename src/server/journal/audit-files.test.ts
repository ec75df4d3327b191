import { pino } from 'pino';
import { expect, it } from 'vitest';
import { tenantId } from '../../core/model/ids.ts';
import { AuditFiles } from './audit-files.ts';

it('lines of the audit that have no folder stay in the store, and the setting is named', async () => {
  const files = new AuditFiles('/proc/nosuch/audit', pino({ level: 'silent' }));
  await expect(files.export(tenantId('ten_1'), [])).rejects.toThrow(/cannot be made: .*\(audit\.dir\)/);
});
