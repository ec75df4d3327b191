import type { RotationRefusal } from '../../model/rotation-phase.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { received } from '../../rejections/redaction.ts';

const MAX_NAMED = 5;

/** The planner's refusal of a rotation phase as a rejection (spec §3, decisions §4). */
export function rotationRejection(refusal: RotationRefusal, phase: unknown): Rejection {
  const parts = { field: 'phase', received: received(phase) };
  switch (refusal.reason) {
    case 'transition_invalid':
      return reject('rotation_transition_invalid', {
        ...parts,
        expected: refusal.next,
        why: `Phases advance in order, so that at no time zero credentials are valid; the next one is ${refusal.next}.`,
      });
    case 'rollout_incomplete':
      return reject('rotation_rollout_incomplete', {
        ...parts,
        expected: `every running instance at secretsVersion ${refusal.secretsVersion}`,
        why: `${refusal.behind.length} running instance(s) still carry older material: ${named(refusal.behind)}.`,
      });
  }
}

function named(ids: readonly string[]): string {
  const shown = ids.slice(0, MAX_NAMED).join(', ');
  return ids.length > MAX_NAMED ? `${shown} and ${ids.length - MAX_NAMED} more` : shown;
}
