import { formatBytes, parseMemory } from '../core/model/quantity.ts';
import type { CallOptions } from '../sdk/index.ts';
import type { Client } from './client.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { usage } from './failure.ts';
import { textOf } from './fields.ts';
import type { Recommendation, Volume, VolumeCopy, VolumeWritten } from './records.ts';
import type { Session } from './session.ts';
import { spanText } from './table.ts';
import { watched } from './watching.ts';

/** `10Gi` of a flag to bytes. */
export function sizeOf(flag: string, text: string): number {
  const bytes = parseMemory(text);
  if (bytes === undefined) throw usage(`${flag} ${text}: expected an amount such as 512Mi or 10Gi`);
  return bytes;
}

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

type Watched = { readonly done: string } | { readonly failed: string } | { readonly note: string };

/** Until the record says that it is over, one way or the other. */
async function watchVolume(
  session: Session,
  client: Client,
  { id, name }: { readonly id: string; readonly name: string },
  timeoutMs: number,
  judge: (record: Volume) => Watched,
): Promise<ExitCode> {
  const deadline = performance.now() + timeoutMs;
  return watched(session, name, async (step) => {
    const judged = judge(await client.record('GET /api/v1/dvm/volumes/{id}', { params: { id } }));
    if ('done' in judged) {
      step.done(judged.done);
      return EXIT.ok;
    }
    if ('failed' in judged || performance.now() >= deadline) {
      step.fail('failed' in judged ? judged.failed : `not within ${spanText(timeoutMs)}: ${judged.note}`);
      session.terminal.err(`  ${session.next(`berth describe volume ${name}`)}\n`);
      return EXIT.notHealthy;
    }
    return judged.note;
  });
}

function phaseText(record: Volume): string {
  return [textOf(record.phase), textOf(record.message)].filter((word) => word !== '').join(': ');
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
  const watched = { id: textOf(volume.id), name: textOf(volume.name) };
  return watchVolume(session, client, watched, timeoutMs, (record) =>
    textOf(record.phase) === 'Ready' ? { done: `ready, ${whereText(record)}` } : { note: phaseText(record) },
  );
}

const MOVING: Readonly<Record<string, string>> = {
  preparing: 'the image is fetched there; everything runs on meanwhile',
  stopping: 'what mounts it stops',
  copying: 'the last copy is made',
};

/** Until the node is the primary and ready, or the move was given up. */
export async function waitUntilPromoted(
  session: Session,
  client: Client,
  { node, ...watched }: { readonly id: string; readonly name: string; readonly node: string },
  timeoutMs: number,
): Promise<ExitCode> {
  return watchVolume(session, client, watched, timeoutMs, (record) => {
    const { switchover, switchoverFailed } = record;
    if (textOf(record.primaryNodeId) === node)
      return textOf(record.phase) === 'Ready' ? { done: `ready, on ${node}` } : { note: phaseText(record) };
    if (switchover !== undefined) return { note: MOVING[textOf(switchover.step)] ?? 'it moves' };
    return {
      failed: `stays ${whereText(record)}: ${textOf(switchoverFailed?.why) || 'the move was given up'}`,
    };
  });
}

function whereText(volume: Volume): string {
  const primary = textOf(volume.primaryNodeId);
  return primary === '' ? 'wherever it is mounted' : `on ${primary}`;
}
