import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { SeenBy } from '../../reads/volume.ts';
import type { Admission } from '../admission.ts';

export interface VolumeAdmission {
  readonly admission: Admission;
  readonly seen: SeenBy;
  /** For the first epoch. */
  readonly leaseMs: number;
}

export function volumesUnavailable({ limits }: Admission): Rejection | undefined {
  if (limits.volumesEnabled) return undefined;
  return reject('volume_binding_unavailable', {
    field: 'volumes',
    received: '(request)',
    why: 'Volume management is switched off on this control plane (dvm.enabled is false).',
  });
}
