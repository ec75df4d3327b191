import type { OutputFormat } from '../command.ts';
import type { Client } from '../client.ts';
import { indented, printEvents, rows } from '../describing.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import { listText, printWhole } from '../output.ts';
import type { Volume } from '../records.ts';
import { VOLUME_COPIES } from '../resources/volumes.ts';
import type { Session } from '../session.ts';
import { age } from '../table.ts';
import { findVolume, volumeConsumers, volumeCopiesText, volumeSizeText, volumeUsedText } from '../volumes.ts';

export async function describeVolume(
  session: Session,
  client: Client,
  word: string,
  format: OutputFormat,
): Promise<number> {
  const record = await findVolume(client, word);
  const { terminal } = session;
  if (await printWhole(terminal, format, record)) return EXIT.ok;
  const { style } = terminal;
  const now = session.now();
  const name = textOf(record.name);
  const copies = record.replicas ?? [];
  terminal.out(`${style.bold(`volume/${name}`)}\n${rows(headOf(record, now))}`);
  if (copies.length > 0) {
    const table = listText(terminal, VOLUME_COPIES, copies, 'table', now);
    terminal.out(`\n${style.bold('Copies')}\n${indented(table)}`);
  }
  const consumers = volumeConsumers(record);
  if (consumers.length > 0)
    terminal.out(`\n${style.bold('Used by')}\n${consumers.map((one) => `  ${one}\n`).join('')}`);
  await printEvents(session, client, `Volume/${textOf(record.id)}`, now);
  terminal.out(`\n${session.next(nextForVolume(record))}\n`);
  return EXIT.ok;
}

function headOf(record: Volume, now: number): readonly (readonly [string, string])[] {
  const measured = textOf(record.measuredAt);
  const since = measured === '' ? '' : `, measured ${age(measured, now)} ago`;
  return [
    ['id', textOf(record.id)],
    ['phase', `${textOf(record.phase)}  ${textOf(record.message)}`.trimEnd()],
    ['class', `${textOf(record.class)}, ${textOf(record.type)}, ${textOf(record.accessMode)}`],
    ['size', `${volumeSizeText(record)}, used ${volumeUsedText(record)}${since}`],
    ['primary', `${textOf(record.primaryNodeId) || 'none'}, epoch ${textOf(record.epoch)}`],
    ['copies', textOf(record.class) === 'replicated' ? volumeCopiesText(record) : ''],
    ['host path', textOf(record.hostPath)],
    ['created', `${age(textOf(record.createdAt), now)} ago`],
  ];
}

/** What a person would type now. */
export function nextForVolume(record: Volume): string {
  const name = textOf(record.name);
  const unhealthy = (record.replicas ?? []).some((copy) => textOf(copy.state) === 'failed');
  if (textOf(record.phase) === 'Deleting') return 'berth get volumes --watch';
  if (unhealthy || textOf(record.phase) === 'Degraded') return 'berth recommendation list';
  if (textOf(record.phase) !== 'Ready') return 'berth get nodes';
  if (textOf(record.class) === 'replicated' && (record.wantedReplicas ?? 0) === 0)
    return `berth volume add-replica ${name} NODE`;
  return volumeConsumers(record).length > 0
    ? 'berth recommendation list'
    : `mount it: volumes: [{ volumeId: ${textOf(record.id)}, mountPath: /data }]`;
}
