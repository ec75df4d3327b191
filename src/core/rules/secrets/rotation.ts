import type { Behind, RotationRefusal } from '../../model/rotation-phase.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { received } from '../../rejections/redaction.ts';

const MAX_NAMED = 5;

/** The planner's refusal of a rotation phase as a rejection. */
export function rotationRejection(refusal: RotationRefusal, phase: unknown): Rejection {
  const parts = { field: 'phase', received: received(phase) };
  switch (refusal.reason) {
    case 'transition_invalid':
      return reject('rotation_transition_invalid', {
        ...parts,
        expected: refusal.next,
        why:
          refusal.why ??
          `Phases advance in order, so that at no time zero credentials are valid; the next one is ${refusal.next}.`,
      });
    case 'rollout_incomplete':
      return reject('rotation_rollout_incomplete', {
        ...parts,
        expected: refusal.until,
        why: `${listed(refusal.behind.map(describeBehind))}.`,
      });
  }
}

function describeBehind({ workload, instances, why }: Behind): string {
  return instances.length === 0 ? `${workload} ${why}` : `${workload} (${listed(instances)}): ${why}`;
}

function listed(sentences: readonly string[]): string {
  const shown = sentences.slice(0, MAX_NAMED).join('; ');
  return sentences.length > MAX_NAMED ? `${shown} and ${sentences.length - MAX_NAMED} more` : shown;
}
