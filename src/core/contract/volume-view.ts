import type { volume } from './answers/volume.ts';
import { type Answer, exactly } from '../schema/shape.ts';
import { type OwnerField, ownerField } from '../model/owner.ts';
import type { VolumeClaims, VolumeRecord } from '../model/volume.ts';
import type { SeenVolume } from './volume-seen.ts';

type Volume = Omit<Answer<typeof volume>, 'revision'>;
const asVolume = exactly<Volume>();

export type VolumeConsumer = OwnerField & { readonly readOnly: boolean };

export function consumersOf(claims: VolumeClaims | undefined): readonly VolumeConsumer[] {
  const { writer, readers = [] } = claims ?? {};
  const owners = [...(writer === undefined ? [] : [writer]), ...readers].sort();
  return owners.map((owner) => ({ ...ownerField(owner), readOnly: owner !== writer }));
}

/** Why it is not Ready, or, when it is, what else is not as it is wanted. */
function messageOf(record: VolumeRecord, primary: SeenVolume | undefined): { message?: string } {
  const problem = record.phase === 'Ready' ? primary?.problem : undefined;
  const message = record.message ?? (problem && `${record.primaryNodeId}: ${problem.message}`);
  return message === undefined ? {} : { message };
}

function moves({
  switchover,
  switchoverFailed,
}: VolumeRecord): Pick<Volume, 'switchover' | 'switchoverFailed'> {
  if (switchover === undefined) return switchoverFailed === undefined ? {} : { switchoverFailed };
  const { to, step, by, since } = switchover;
  return { switchover: { to, step, by, since } };
}

/** What nobody has measured yet is null. */
export function volumeView(
  record: VolumeRecord,
  claims: VolumeClaims | undefined,
  primary: SeenVolume | undefined,
): Volume {
  const copies = new Map(primary?.copies?.map((copy) => [copy.nodeId, copy]));
  return asVolume({
    id: record.id,
    tenantId: record.tenantId,
    name: record.name,
    class: record.class,
    type: record.type,
    phase: record.phase,
    ...messageOf(record, primary),
    sizeBytes: primary?.sizeBytes ?? record.sizeBytes,
    wantedSizeBytes: record.sizeBytes,
    usedBytes: primary?.usedBytes ?? null,
    measuredAt: primary?.usedBytes === undefined ? null : primary.measuredAt,
    primaryNodeId: record.primaryNodeId ?? null,
    wantedReplicas: record.copies,
    replicas: record.replicas.map(({ nodeId, state, formerEpoch, misplaced }) => {
      const { ageMs, problem } = copies.get(nodeId) ?? {};
      return {
        nodeId,
        state,
        lagSeconds: ageMs === undefined ? null : Math.round(ageMs / 100) / 10,
        ...(formerEpoch === undefined ? {} : { formerEpoch }),
        ...(misplaced === undefined ? {} : { misplaced }),
        ...(problem === undefined ? {} : { problem }),
      };
    }),
    accessMode: record.accessMode,
    ...(record.hostPath === undefined ? {} : { hostPath: record.hostPath }),
    epoch: record.epoch,
    ...moves(record),
    createdAt: record.createdAt,
    consumers: consumersOf(claims),
  });
}
