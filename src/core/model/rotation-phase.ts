import type { RotatedVersions, RotationPhase, RotationState } from './deployment.ts';

/** The order of decisions §4; after the last comes the first again. */
export const ROTATION_ORDER: readonly RotationPhase[] = ['stage', 'promote', 'retire'];

export function nextRotationPhase(state: RotationState | undefined): RotationPhase {
  switch (state?.phase) {
    case undefined:
    case 'retire':
      return 'stage';
    case 'stage':
      return 'promote';
    case 'promote':
      return 'retire';
  }
}

/** Which versions of an entry's document a container gets; `newest` is whatever the store holds when it is created. */
export interface DeliveredVersions {
  readonly current: number | 'newest';
  readonly next?: number;
  readonly previous?: number;
}

/**
 * Versions are pinned during the overlap only. Outside it the newest document is delivered, so that a written document
 * takes effect with the next container; `current` is then the mark of what the last rotation put into service.
 */
export function deliveredVersions(versions: RotatedVersions | undefined): DeliveredVersions {
  if (versions === undefined || !isOverlapping(versions)) return { current: 'newest' };
  return versions;
}

export function isOverlapping(versions: RotatedVersions): boolean {
  return versions.next !== undefined || versions.previous !== undefined;
}

/** Why a rotation does not advance now. */
export type RotationRefusal =
  | { readonly reason: 'transition_invalid'; readonly next: RotationPhase }
  | {
      readonly reason: 'rollout_incomplete';
      readonly secretsVersion: number;
      readonly behind: readonly string[];
    };
