import { setTimeout as pause } from 'node:timers/promises';
import { formatBytes } from '../core/model/quantity.ts';
import type { CallOptions } from '../sdk/index.ts';
import type { Client } from './client.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { textOf } from './fields.ts';
import type { Recommendation, Volume, VolumeCopy, VolumeWritten } from './records.ts';
import type { Session } from './session.ts';
import { spanText } from './table.ts';

const POLL_MS = 300;

/** By name or by id; a name cannot look like an id, which has an underscore. */
export async function findVolume(client: Client, word: string): Promise<Volume> {
  const named = word.startsWith('vol_')
    ? undefined
    : (await client.list('GET /api/v1/dvm/volumes')).find((volume) => textOf(volume.name) === word);
  // The control plane refuses what does not exist.
  return named ?? client.record('GET /api/v1/dvm/volumes/{id}', { params: { id: word } });
}

export async function deleteVolume(client: Client, word: string): Promise<VolumeWritten> {
  const id = textOf((await findVolume(client, word)).id);
  return client.record('DELETE /api/v1/dvm/volumes/{id}', { params: { id } });
}

/** The tenant that the requests act for, as a path has to name it. */
export async function tenantOf(client: Client): Promise<string> {
  return client.target.tenant ?? textOf((await client.record('GET /api/v1/session')).tenant?.slug);
}

export async function listRecommendations(
  client: Client,
  query: CallOptions<'GET /api/v1/dvm/recommendations'>['query'] = {},
): Promise<readonly Recommendation[]> {
  return client.forTenant(await tenantOf(client)).list('GET /api/v1/dvm/recommendations', { query });
}

/** What was asked for; what there is may differ for a while, or for good. */
export function wantedBytes(volume: Volume): number {
  return volume.wantedSizeBytes ?? volume.sizeBytes ?? 0;
}

export function volumeSizeText(volume: Volume): string {
  const size = volume.sizeBytes ?? 0;
  const [shown, wanted] = [formatBytes(size), formatBytes(wantedBytes(volume))];
  return shown === wanted ? shown : `${shown} (${wanted} wanted)`;
}

export function volumeUsedText(volume: Volume): string {
  const used = volume.usedBytes;
  if (used === undefined || used === null) return '-';
  const size = volume.sizeBytes ?? 0;
  return `${formatBytes(used)}${size > 0 ? ` (${Math.round((used / size) * 100)} %)` : ''}`;
}

/** Live of wanted; nothing is said of what cannot have copies. */
export function volumeCopiesText(volume: Volume): string {
  if (textOf(volume.class) !== 'replicated') return '-';
  const live = (volume.replicas ?? []).filter((copy) => textOf(copy.state) === 'live');
  return `${live.length}/${volume.wantedReplicas ?? 0} live`;
}

export function volumeConsumers(volume: Volume): readonly string[] {
  return (volume.consumers ?? []).map((consumer) => {
    const job = textOf(consumer.job);
    const owner = job === '' ? `deployment/${textOf(consumer.deployment)}` : `job/${job}`;
    return consumer.readOnly === true ? `${owner} (reads)` : owner;
  });
}

export function lagText(copy: VolumeCopy): string {
  const seconds = copy.lagSeconds;
  return seconds === undefined || seconds === null ? '-' : `${seconds} s`;
}

/** What applying it would do. */
export function recommendedText(recommendation: Recommendation): string {
  const parameters = recommendation.parameters ?? {};
  const copies = parameters.target_replicas;
  const size = parameters.target_size_bytes;
  const what =
    copies === undefined
      ? size === undefined
        ? ''
        : `resize to ${formatBytes(size)}`
      : `keep ${copies} ${copies === 1 ? 'copy' : 'copies'}`;
  if (recommendation.applicable === true) return what;
  return what === '' ? 'yours to do' : `${what} (not possible now)`;
}

/** Until it can be mounted. Copies may still be on their way then. */
export async function waitUntilReady(
  session: Session,
  client: Client,
  volume: Volume,
  timeoutMs: number,
): Promise<ExitCode> {
  // Nothing prepares one of the class object.
  if (textOf(volume.class) === 'object') return EXIT.ok;
  const name = textOf(volume.name);
  const step = session.progress().step(name);
  const deadline = performance.now() + timeoutMs;
  try {
    for (;;) {
      const record = await client.record('GET /api/v1/dvm/volumes/{id}', {
        params: { id: textOf(volume.id) },
      });
      const phase = textOf(record.phase);
      if (phase === 'Ready') {
        step.done(`ready, ${whereText(record)}`);
        return EXIT.ok;
      }
      const text = [phase, textOf(record.message)].filter((word) => word !== '').join(': ');
      if (performance.now() >= deadline) {
        step.fail(`not ready within ${spanText(timeoutMs)}: ${text}`);
        session.terminal.err(`  ${session.next(`berth describe volume ${name}`)}\n`);
        return EXIT.notHealthy;
      }
      step.note(text);
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

function whereText(volume: Volume): string {
  const primary = textOf(volume.primaryNodeId);
  return primary === '' ? 'wherever it is mounted' : `on ${primary}`;
}
