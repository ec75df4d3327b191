import { setTimeout as pause } from 'node:timers/promises';
import { formatBytes } from '../core/model/quantity.ts';
import { type Client, type Json, segment } from './client.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { listOf, numberOf, textOf } from './fields.ts';
import type { Session } from './session.ts';
import { spanText } from './table.ts';

export const VOLUMES_PATH = '/api/v1/dvm/volumes';
export const RECOMMENDATIONS_PATH = '/api/v1/dvm/recommendations';
const POLL_MS = 300;

export function volumePath(id: string): string {
  return `${VOLUMES_PATH}/${segment(id)}`;
}

/** By name or by id; a name cannot look like an id, which has an underscore. */
export async function findVolume(client: Client, word: string): Promise<Json> {
  const named = word.startsWith('vol_')
    ? undefined
    : (await client.list(VOLUMES_PATH)).find((volume) => textOf(volume, 'name') === word);
  // What is not there is refused in the words of the control plane.
  return named ?? client.record({ path: volumePath(word) });
}

export async function deleteVolume(client: Client, word: string): Promise<Json> {
  const id = textOf(await findVolume(client, word), 'id');
  return client.record({ method: 'DELETE', path: volumePath(id) });
}

/** The tenant that the requests act for, as a path has to name it. */
export async function tenantOf(client: Client): Promise<string> {
  return client.target.tenant ?? textOf(await client.record({ path: '/api/v1/session' }), 'tenant.slug');
}

export async function listRecommendations(
  client: Client,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly Json[]> {
  return client.forTenant(await tenantOf(client)).list(RECOMMENDATIONS_PATH, query);
}

/** What was asked for; what there is may differ for a while, or for good. */
export function wantedBytes(volume: Json): number {
  return numberOf(volume, 'wantedSizeBytes') ?? numberOf(volume, 'sizeBytes') ?? 0;
}

export function volumeSizeText(volume: Json): string {
  const size = numberOf(volume, 'sizeBytes') ?? 0;
  const [shown, wanted] = [formatBytes(size), formatBytes(wantedBytes(volume))];
  return shown === wanted ? shown : `${shown} (${wanted} wanted)`;
}

export function volumeUsedText(volume: Json): string {
  const used = numberOf(volume, 'usedBytes');
  if (used === undefined) return '-';
  const size = numberOf(volume, 'sizeBytes') ?? 0;
  return `${formatBytes(used)}${size > 0 ? ` (${Math.round((used / size) * 100)} %)` : ''}`;
}

/** Live of wanted; nothing is said of what cannot have copies. */
export function volumeCopiesText(volume: Json): string {
  if (textOf(volume, 'class') !== 'replicated') return '-';
  const live = listOf(volume, 'replicas').filter((copy) => textOf(copy, 'state') === 'live');
  return `${live.length}/${numberOf(volume, 'wantedReplicas') ?? 0} live`;
}

export function volumeConsumers(volume: Json): readonly string[] {
  return listOf(volume, 'consumers').map((consumer) => {
    const job = textOf(consumer, 'job');
    const owner = job === '' ? `deployment/${textOf(consumer, 'deployment')}` : `job/${job}`;
    return consumer['readOnly'] === true ? `${owner} (reads)` : owner;
  });
}

export function lagText(copy: Json): string {
  const seconds = numberOf(copy, 'lagSeconds');
  return seconds === undefined ? '-' : `${seconds} s`;
}

/** What applying it would do. */
export function recommendedText(recommendation: Json): string {
  const parameters = (recommendation['parameters'] ?? {}) as Json;
  const copies = numberOf(parameters, 'target_replicas');
  const size = numberOf(parameters, 'target_size_bytes');
  const what =
    copies === undefined
      ? size === undefined
        ? ''
        : `resize to ${formatBytes(size)}`
      : `keep ${copies} ${copies === 1 ? 'copy' : 'copies'}`;
  if (recommendation['applicable'] === true) return what;
  return what === '' ? 'yours to do' : `${what} (not possible now)`;
}

/** Until it can be mounted. Copies may still be on their way then. */
export async function waitUntilReady(
  session: Session,
  client: Client,
  volume: Json,
  timeoutMs: number,
): Promise<ExitCode> {
  // Nothing prepares one of the class object.
  if (textOf(volume, 'class') === 'object') return EXIT.ok;
  const name = textOf(volume, 'name');
  const step = session.progress().step(name);
  const deadline = performance.now() + timeoutMs;
  try {
    for (;;) {
      const record = await client.record({ path: volumePath(textOf(volume, 'id')) });
      const phase = textOf(record, 'phase');
      if (phase === 'Ready') {
        step.done(`ready, ${whereText(record)}`);
        return EXIT.ok;
      }
      const words = [phase, textOf(record, 'message')].filter((word) => word !== '').join(': ');
      if (performance.now() >= deadline) {
        step.fail(`not ready within ${spanText(timeoutMs)}: ${words}`);
        session.terminal.err(`  ${session.next(`berth describe volume ${name}`)}\n`);
        return EXIT.notHealthy;
      }
      step.note(words);
      await pause(POLL_MS, undefined, { signal: session.interrupted });
    }
  } catch (error) {
    step.fail(
      session.interrupted.aborted
        ? 'not waited for any longer; it is made without this program'
        : 'could not be watched',
    );
    throw error;
  }
}

function whereText(volume: Json): string {
  const primary = textOf(volume, 'primaryNodeId');
  return primary === '' ? 'wherever it is mounted' : `on ${primary}`;
}
