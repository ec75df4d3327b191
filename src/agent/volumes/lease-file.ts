import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { fields, fieldsIn, list, number, text } from '../engine/fields.ts';
import { readIfThere, writeWhole } from '../whole-file.ts';

/** What the watchdog must know to end the writers of a volume without anybody's help. */
export interface LeaseEntry {
  readonly volumeId: string;
  readonly mountPoint: string;
  readonly device: string;
  readonly source: string;
  readonly image: string;
  readonly deadlineMs: number;
}

/**
 * Milliseconds since the machine started, also those it slept through: a clock that never goes back, that every process of
 * the machine shares, and on which a lease runs out during a suspend.
 */
export function machineMs(): number {
  return uptime() * 1000;
}

export function leaseFile(dataDir: string): string {
  return join(dataDir, 'volumes', 'leases.json');
}

async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

export async function writeLeases(dataDir: string, leases: readonly LeaseEntry[]): Promise<void> {
  await writeWhole(leaseFile(dataDir), `${JSON.stringify({ boot: await bootId(), leases })}\n`);
}

/**
 * Those of this boot: what was mounted before it is not any more, and its times mean nothing now. Fails where the file is there and does not
 * say them.
 */
export async function readLeases(dataDir: string): Promise<readonly LeaseEntry[]> {
  const content = await readIfThere(leaseFile(dataDir));
  if (content === undefined) return [];
  const stored = fieldsIn(content);
  if (text(stored['boot']) === undefined)
    throw new Error(`${leaseFile(dataDir)} is damaged: remove it after a restart of this machine`);
  if (stored['boot'] !== (await bootId())) return [];
  return list(stored['leases']).flatMap((one) => {
    const entry = fields(one);
    const field = (key: string): string => text(entry[key]) ?? '';
    const deadlineMs = number(entry['deadlineMs']);
    if (deadlineMs === undefined || field('mountPoint') === '' || field('device') === '') return [];
    return [
      {
        volumeId: field('volumeId'),
        mountPoint: field('mountPoint'),
        device: field('device'),
        source: field('source'),
        image: field('image'),
        deadlineMs,
      },
    ];
  });
}
