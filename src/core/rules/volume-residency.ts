import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';

/** Two that mount one volume, and a residency of one of them that takes from the other what protects its bytes. */
export interface VolumeResidencyConflict {
  /** Of the mount. */
  readonly index: number;
  /** `excludes`: the residency of what is written; `excluded`: that of the other. */
  readonly kind: 'excludes' | 'excluded';
  readonly self: string;
  readonly other: string;
  readonly volume: string;
  /** Where the copies are. */
  readonly nodes: readonly string[];
  /** The residency, for people. */
  readonly asked: string;
}

export function volumeResidencyRejection({
  index,
  kind,
  self,
  other,
  volume,
  nodes,
  asked,
}: VolumeResidencyConflict): Rejection {
  const where = nodes.join(', ');
  if (kind === 'excludes') {
    return reject('volume_residency_conflict', {
      field: 'placement.residency',
      received: received(asked),
      expected: `a residency that ${where} satisfies; or remove that copy first, or detach the volume from ${other}`,
      why: `${self} asks for ${asked}, which excludes ${where}; ${other} relies on the copy of volume ${volume} there.`,
    });
  }
  return reject('volume_residency_conflict', {
    field: `volumes[${index}].volumeId`,
    received: received(volume),
    expected: `a volume with a copy that ${asked} allows; or change the residency of ${other}, or detach the volume from it`,
    why: `${other} mounts volume ${volume} and asks for ${asked}, which excludes every copy (${where}): none could take over for ${self}.`,
  });
}
