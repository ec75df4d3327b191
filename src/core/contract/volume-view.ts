import type { VolumeClaims, VolumeRecord } from '../model/volume.ts';
import type { SeenVolume } from './volume-seen.ts';

export interface VolumeConsumer {
  readonly deployment: string;
  readonly readOnly: boolean;
}

export function consumersOf(claims: VolumeClaims | undefined): readonly VolumeConsumer[] {
  const writer = claims?.writer === undefined ? [] : [{ deployment: claims.writer, readOnly: false }];
  const readers = (claims?.readers ?? []).map((deployment) => ({ deployment, readOnly: true }));
  return [...writer, ...readers].sort((a, b) => (a.deployment < b.deployment ? -1 : 1));
}

/** Decisions §7, "Record". What nobody has measured yet is null. */
export function volumeView(
  record: VolumeRecord,
  claims: VolumeClaims | undefined,
  primary: SeenVolume | undefined,
): Record<string, unknown> {
  const copies = new Map(primary?.copies?.map((copy) => [copy.nodeId, copy]));
  return {
    id: record.id,
    tenantId: record.tenantId,
    name: record.name,
    class: record.class,
    type: record.type,
    phase: record.phase,
    ...(record.message === undefined ? {} : { message: record.message }),
    sizeBytes: record.sizeBytes,
    usedBytes: primary?.usedBytes ?? null,
    measuredAt: primary?.usedBytes === undefined ? null : primary.measuredAt,
    primaryNodeId: record.primaryNodeId ?? null,
    wantedReplicas: record.copies,
    replicas: record.replicas.map(({ nodeId, state, formerEpoch }) => {
      const ageMs = copies.get(nodeId)?.ageMs;
      return {
        nodeId,
        state,
        lagSeconds: ageMs === undefined ? null : Math.round(ageMs / 100) / 10,
        ...(formerEpoch === undefined ? {} : { formerEpoch }),
      };
    }),
    accessMode: record.accessMode,
    ...(record.hostPath === undefined ? {} : { hostPath: record.hostPath }),
    epoch: record.epoch,
    createdAt: record.createdAt,
    consumers: consumersOf(claims),
  };
}
