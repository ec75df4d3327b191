import type { Client } from './client.ts';
import type { Event } from './records.ts';
import { listText } from './output.ts';
import { EVENTS } from './resources/events.ts';
import type { Session } from './session.ts';
import { printable } from './style.ts';

const RECENT = 10;

async function recentEvents(client: Client, subject: string): Promise<readonly Event[]> {
  return (await client.list('GET /api/v1/events', { query: { subject } })).slice(-RECENT);
}

export async function printEvents(
  session: Session,
  client: Client,
  subject: string,
  now: number,
): Promise<void> {
  const recent = await recentEvents(client, subject);
  if (recent.length === 0) return;
  session.terminal.out(
    `\n${session.terminal.style.bold('Recent events')}\n${indented(listText(session.terminal, EVENTS, recent, 'table', now))}`,
  );
}

/** Labels and values; what has no value is left out. */
export function rows(entries: readonly (readonly [string, string])[]): string {
  return entries
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `  ${label.padEnd(14)} ${printable(value)}\n`)
    .join('');
}

export function indented(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('');
}
