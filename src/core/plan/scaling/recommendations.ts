import { formatBytes } from '../../model/quantity.ts';
import {
  type Recommendation,
  RECOMMENDATION_PRIORITIES,
  type RecommendationPriority,
} from '../../model/recommendation.ts';
import { LEAST_RESIZED_BYTES, SMALLEST_REPLICATED_BYTES, type VolumeRecord } from '../../model/volume.ts';

export interface MeasuredVolume {
  readonly record: VolumeRecord;
  /** Absent: not measured yet. */
  readonly usedBytes?: number;
  /** What `df` shows; absent: not measured yet. */
  readonly sizeBytes?: number;
  /** It can be made smaller while it is in use. */
  readonly shrinkable?: boolean;
  /** Absent: something mounts it. */
  readonly unmountedForMs?: number;
}

export interface RecommendationFacts {
  readonly volumes: readonly MeasuredVolume[];
  readonly enrolledNodes: number;
  /** Of the text; ids are stable as long as the condition holds. */
  readonly digest: (text: string) => string;
}

type Finding = Omit<Recommendation, 'id' | 'volume_id'>;

const GIB = 2 ** 30;
const STEP_BYTES = 64 * 2 ** 20;
const CROWDED_PERCENT = 85;
const FULL_PERCENT = 95;
const SPARSE_PERCENT = 20;
/** What the bytes would fill of a volume that was resized as recommended. */
const GROWN_PERCENT = 60;
const SHRUNK_PERCENT = 50;
/** Whatever a node says of itself, no single step is larger. */
const MAX_GROWTH = 4;
const UNUSED_MS = 7 * 86_400_000;

function replication({ record }: MeasuredVolume, enrolledNodes: number): Finding | undefined {
  if (record.class !== 'replicated') return undefined;
  const failed = record.replicas.filter(({ state }) => state === 'failed').map(({ nodeId }) => nodeId);
  const live = record.replicas.some(({ state, misplaced }) => state === 'live' && misplaced === undefined);
  if (failed.length === 0 && live) return undefined;
  const target = Math.max(1, record.copies);
  const applicable = enrolledNodes > target;
  const nodes = applicable ? '' : `; ${target} need ${target + 1} enrolled nodes, there are ${enrolledNodes}`;
  const what =
    failed.length > 0
      ? `the copy on ${failed.join(', ')} failed`
      : 'no live copy could take over if the primary were lost';
  return {
    applicable,
    type: 'replication',
    priority: failed.length > 0 ? 'critical' : 'high',
    parameters: { action: 'set_replicas', target_replicas: target },
    reason: `volume ${record.name}: ${what}${nodes}`,
  };
}

/** So that the bytes fill the given part of it. */
function sizeFor(usedBytes: number, percent: number, smallest: number): number {
  return Math.max(smallest, Math.ceil((usedBytes * 100) / percent / STEP_BYTES) * STEP_BYTES);
}

function capacity({ record, usedBytes, sizeBytes, shrinkable }: MeasuredVolume): Finding | undefined {
  if (usedBytes === undefined || record.sizeBytes === 0) return undefined;
  const { name, sizeBytes: wanted } = record;
  const size = sizeBytes ?? wanted;
  const percent = (usedBytes * 100) / size;
  const resize = (
    priority: RecommendationPriority,
    target: number,
    { applicable, note }: { readonly applicable: boolean; readonly note: string },
  ): Finding => ({
    applicable,
    type: 'capacity',
    priority,
    parameters: { action: 'resize', target_size_bytes: target },
    reason: `volume ${name}: ${formatBytes(usedBytes)} of ${formatBytes(size)} are used, ${Math.floor(percent)} %${note}`,
  });
  if (percent >= CROWDED_PERCENT) {
    const priority = percent >= FULL_PERCENT ? 'critical' : 'high';
    const smallest = record.class === 'replicated' ? SMALLEST_REPLICATED_BYTES : STEP_BYTES;
    const target = sizeFor(usedBytes, GROWN_PERCENT, smallest);
    const most = MAX_GROWTH * Math.max(wanted, smallest);
    if (target <= most) return resize(priority, target, { applicable: true, note: '' });
    const note = `; that is far from the ${formatBytes(wanted)} that are wanted: look at its node first`;
    return resize(priority, most, { applicable: false, note });
  }
  const target = sizeFor(usedBytes, SHRUNK_PERCENT, LEAST_RESIZED_BYTES);
  if (percent >= SPARSE_PERCENT || size <= GIB || target >= size) return undefined;
  const note = '; its file system cannot be made smaller while it is in use';
  return resize(
    'low',
    target,
    shrinkable === true ? { applicable: true, note: '' } : { applicable: false, note },
  );
}

/** Only a person may delete bytes. */
function cleanup({ record, unmountedForMs = 0 }: MeasuredVolume): Finding | undefined {
  if (unmountedForMs < UNUSED_MS) return undefined;
  return {
    applicable: false,
    type: 'cleanup',
    priority: 'low',
    parameters: {},
    reason: `volume ${record.name}: nothing has mounted it since ${record.unmountedSince ?? 'it was made'}; delete it if its bytes are not needed`,
  };
}

/** By urgency, then by volume. */
export function recommendationOrder({ priority, volume_id, type }: Recommendation): string {
  return `${RECOMMENDATION_PRIORITIES.indexOf(priority)}/${volume_id}/${type}`;
}

export function recommend({
  volumes,
  enrolledNodes,
  digest,
}: RecommendationFacts): readonly Recommendation[] {
  return volumes
    .filter(({ record }) => record.phase !== 'Deleting')
    .flatMap((volume) => {
      const findings = [replication(volume, enrolledNodes), capacity(volume), cleanup(volume)];
      return findings.flatMap((finding) => {
        if (finding === undefined) return [];
        const { id } = volume.record;
        const text = `${id}/${finding.type}/${finding.parameters.action ?? ''}`;
        return [{ id: `rec_${digest(text)}`, volume_id: id, ...finding }];
      });
    })
    .sort((a, b) => (recommendationOrder(a) < recommendationOrder(b) ? -1 : 1));
}
