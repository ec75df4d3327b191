import { createHash } from 'node:crypto';
import type { VolumeMeasurement } from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { Recommendation } from '../../../core/model/recommendation.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { recommend } from '../../../core/plan/scaling/recommendations.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type AppliedChange, appliedChange, changeRejection } from '../../../core/rules/recommendation.ts';
import type { RECOMMENDATIONS } from '../../../core/operations/recommendations.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { acceptedOf, type Attempt, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { volumeChange } from '../volumes/volume-replicas.ts';
import { primarySeen, storedVolumeView } from '../../reads/volume.ts';
import type { VolumeAdmission } from '../volumes/volume-stored.ts';

interface Shown {
  readonly volumeId: string;
  readonly primaryNodeId: string | undefined;
}

const MAX_REMEMBERED = 10_000;
const ID_CHARACTERS = 24;

/**
 * Recommendations that were read from this process, so that applying one whose volume went away or moved meanwhile can be distinguished
 * from one that never was. A cache: without it the answer is that the id is not in the list.
 */
export class ShownRecommendations {
  readonly #shown = new Map<string, Shown>();

  note(tenantId: TenantId, id: string, shown: Shown): void {
    const key = `${tenantId}/${id}`;
    this.#shown.delete(key);
    this.#shown.set(key, shown);
    if (this.#shown.size <= MAX_REMEMBERED) return;
    const [oldest] = this.#shown.keys();
    if (oldest !== undefined) this.#shown.delete(oldest);
  }

  get(tenantId: TenantId, id: string): Shown | undefined {
    return this.#shown.get(`${tenantId}/${id}`);
  }
}

export interface RecommendationAdmission {
  readonly volumes: VolumeAdmission;
  readonly shown: ShownRecommendations;
  /** Asks the agent of the node, now; a text says why there is no answer. */
  readonly measure: (
    tenantId: TenantId,
    node: string,
    volumeId: string,
  ) => Promise<VolumeMeasurement | string>;
}

function compute({ admission, seen }: VolumeAdmission, tenant: TenantStore): readonly Recommendation[] {
  const now = admission.clock.now().getTime();
  return recommend({
    volumes: tenant.list('volumes').map(({ record }) => {
      const { usedBytes, sizeBytes, shrinkable } = primarySeen(seen, record) ?? {};
      const since = record.unmountedSince;
      return {
        record,
        ...(usedBytes === undefined ? {} : { usedBytes }),
        ...(sizeBytes === undefined ? {} : { sizeBytes }),
        ...(shrinkable === undefined ? {} : { shrinkable }),
        ...(since === undefined ? {} : { unmountedForMs: now - Date.parse(since) }),
      };
    }),
    enrolledNodes: tenant.collection('nodes').size,
    digest: (text) => createHash('sha256').update(text).digest('hex').slice(0, ID_CHARACTERS),
  });
}

export function listRecommendations(
  { volumes, shown }: RecommendationAdmission,
  tenant: TenantStore,
): readonly Recommendation[] {
  const list = compute(volumes, tenant);
  for (const { id, volume_id } of list) {
    const primaryNodeId = tenant.get('volumes', idOf('volumes', volume_id))?.record.primaryNodeId;
    shown.note(tenant.tenantId, id, { volumeId: volume_id, primaryNodeId });
  }
  return list;
}

function missing(tenant: TenantStore, shown: Shown | undefined): Rejection | undefined {
  if (shown === undefined) return undefined;
  const record = tenant.get('volumes', idOf('volumes', shown.volumeId))?.record;
  const gone = record === undefined || record.phase === 'Deleting';
  if (!gone && record.primaryNodeId === shown.primaryNodeId) return undefined;
  return reject('dvm_recommendation_volume_missing', {
    field: 'volume_id',
    received: received(shown.volumeId),
    why: gone
      ? 'The volume was deleted since the recommendation was read.'
      : `The primary of the volume moved to ${record.primaryNodeId ?? 'no node'} since the recommendation was read.`,
  });
}

function changed(record: VolumeRecord, { action, target }: AppliedChange): VolumeRecord {
  if (action === 'resize') return { ...record, sizeBytes: target };
  // Copies that failed are given up, so that others take their place.
  const failed = record.replicas.filter(
    ({ state, formerEpoch }) => state === 'failed' && formerEpoch === undefined,
  );
  return {
    ...record,
    copies: target,
    replicas: record.replicas.filter((copy) => !failed.includes(copy)),
    leaving: [...record.leaving, ...failed.map(({ nodeId }) => nodeId)],
  };
}

const accepted = acceptedOf<typeof RECOMMENDATIONS.apply>();

function change(
  { volumes }: RecommendationAdmission,
  caller: Caller,
  stored: Stored<VolumeRecord>,
  applied: AppliedChange,
): Attempt<typeof RECOMMENDATIONS.apply> {
  const { tenant } = caller;
  const record = changed(stored.record, applied);
  const resize = applied.action === 'resize';
  const transaction = volumeChange(volumes, caller, stored, record, {
    kind: resize ? 'volume.resized' : 'volume.replicas_set',
    message: resize
      ? `its size is ${applied.target} bytes instead of ${stored.record.sizeBytes}`
      : `${applied.target} copies are wanted`,
    details: resize ? { sizeBytes: applied.target } : { replicas: applied.target },
  });
  const { revision: _before, ...view } = storedVolumeView(tenant, volumes.seen, { ...stored, record });
  const dropped = stored.record.replicas.filter(
    ({ nodeId }) => !record.replicas.some((copy) => copy.nodeId === nodeId),
  );
  const removed = dropped.map(({ nodeId }) => `replicas[${nodeId}]`);
  const { alterations } = applied;
  return { answer: accepted(200, { ...view, alterations, warnings: [], removed }), transaction };
}

/** Of the primary that the record names: what another node says is not what the volume holds. */
async function measured(
  { measure }: RecommendationAdmission,
  { id, tenantId, primaryNodeId, epoch }: VolumeRecord,
): Promise<VolumeMeasurement | string> {
  if (primaryNodeId === undefined) return 'It has no primary.';
  const answer = await measure(tenantId, primaryNodeId, id);
  if (typeof answer === 'string' || answer.epoch === epoch) return answer;
  return `${primaryNodeId} is not its primary any more.`;
}

export async function applyRecommendation(
  recommendations: RecommendationAdmission,
  caller: Caller,
  id: string,
  parameters: unknown,
): Promise<Outcome<typeof RECOMMENDATIONS.apply>> {
  const { volumes, shown } = recommendations;
  return commitAttempts(
    volumes.admission,
    caller,
    async (): Promise<Attempt<typeof RECOMMENDATIONS.apply>> => {
      const { tenant } = caller;
      const moved = missing(tenant, shown.get(tenant.tenantId, id));
      if (moved) return moved;
      const recommendation = compute(volumes, tenant).find((one) => one.id === id);
      const stored = recommendation && tenant.get('volumes', idOf('volumes', recommendation.volume_id));
      if (recommendation === undefined || stored === undefined) {
        return reject('dvm_recommendation_not_found', {
          field: 'id',
          received: received(id),
          why: 'The tenant has no recommendation of this id at present.',
        });
      }
      if (!recommendation.applicable) {
        return reject('dvm_recommendation_not_applicable', {
          field: 'id',
          received: received(id),
          why: recommendation.reason,
        });
      }
      const applied = appliedChange(recommendation, parameters);
      if (isRejection(applied)) return applied;
      const { record } = stored;
      const rejection = changeRejection(applied, {
        record,
        ...(applied.action === 'resize' ? { measured: await measured(recommendations, record) } : {}),
        enrolledNodes: tenant.collection('nodes').size,
      });
      return rejection ?? change(recommendations, caller, stored, applied);
    },
  );
}
