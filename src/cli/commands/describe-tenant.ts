import type { OutputFormat } from '../command.ts';
import { formatBytes } from '../../core/model/quantity.ts';
import type { Client } from '../client.ts';
import { rows } from '../describing.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { printWhole } from '../output.ts';
import type { Session } from '../session.ts';
import { age } from '../table.ts';
import { storedText } from '../tenant-usage.ts';

export async function describeTenant(
  session: Session,
  client: Client,
  name: string,
  format: OutputFormat,
): Promise<number> {
  const record = await client.record('GET /api/v1/tenants/{tenant}', { params: { tenant: name } });
  const { terminal } = session;
  if (await printWhole(terminal, format, record)) return EXIT.ok;
  const memory = record.quota?.memoryBytes;
  const slug = textOf(record.slug);
  terminal.out(
    `${terminal.style.bold(`tenant/${slug}`)}\n${rows([
      ['name', textOf(record.name)],
      ['id', textOf(record.id)],
      ['created', `${age(textOf(record.createdAt), session.now())} ago`],
      ['containers', textOf(record.quota?.containers) || 'no limit'],
      ['cpu', textOf(record.quota?.cpu) || 'no limit'],
      ['memory', memory === undefined ? 'no limit' : formatBytes(memory)],
      ...Object.entries(record.containerDefaults?.effective ?? {}).map(
        ([field, value]) => [`each ${field}`, String(value)] as const,
      ),
    ])}${storedText(record, terminal.style)}`,
  );
  terminal.err(`next: berth tenant quota ${slug} --records deployments=500\n`);
  return EXIT.ok;
}
