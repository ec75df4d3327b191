import type { RotatedVersions, RotationPhase, RotationState, SecretReference } from './deployment.ts';

/** In order; after the last comes the first again. `abort` goes back from the first two. */
export const ROTATION_ORDER = ['stage', 'promote', 'retire'] as const;
export const ROTATION_PHASES: readonly RotationPhase[] = [...ROTATION_ORDER, 'abort'];

function isOverlapping(versions: RotatedVersions): boolean {
  return versions.next !== undefined || versions.previous !== undefined;
}

/** Where one deployment stands with one credential; absent: it takes no part in a rotation. */
export function stepOf(pin: RotatedVersions | undefined): 'staged' | 'promoted' | undefined {
  if (pin?.next !== undefined) return 'staged';
  return pin?.previous === undefined ? undefined : 'promoted';
}

/** The next phase of what a deployment takes part in. */
export function nextRotationPhase(state: RotationState | undefined): (typeof ROTATION_ORDER)[number] {
  if (state?.secrets === undefined) return 'stage';
  const steps = new Set(Object.values(state.secrets).map(stepOf));
  if (steps.has('staged')) return 'promote';
  return steps.has('promoted') ? 'retire' : 'stage';
}

export function isRotating(state: RotationState | undefined): boolean {
  return Object.values(state?.secrets ?? {}).some(isOverlapping);
}

/** The overlap of an entry's document. Records of earlier versions name the entry instead of the path. */
export function overlapOf(
  state: RotationState | undefined,
  { name, vault_path }: Pick<SecretReference, 'name' | 'vault_path'>,
): RotatedVersions | undefined {
  const pins = state?.secrets ?? {};
  const key = [vault_path, name].find((one) => Object.hasOwn(pins, one));
  const pin = key === undefined ? undefined : pins[key];
  return pin !== undefined && isOverlapping(pin) ? pin : undefined;
}

/** Why a rotation does not advance now. */
export type RotationRefusal =
  | { readonly reason: 'transition_invalid'; readonly next: RotationPhase; readonly why?: string }
  | {
      readonly reason: 'rollout_incomplete';
      /** What every instance has to have before the phase is accepted. */
      readonly until: string;
      readonly behind: readonly Behind[];
    };

/** Instances of one workload that hold a phase back; none named: the workload itself does. */
export interface Behind {
  readonly workload: string;
  readonly instances: readonly string[];
  readonly why: string;
}
