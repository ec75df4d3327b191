import type { RotationPhase } from '../../core/model/deployment.ts';

export type CredentialState = 'in use' | 'valid' | 'not yet' | 'may be revoked';

export interface RotationStep {
  readonly phase: RotationPhase | null;
  readonly title: string;
  readonly meaning: string;
  /** Of the credential there was before, and how containers get it. */
  readonly old: { readonly state: CredentialState; readonly variable?: string };
  readonly fresh: { readonly state: CredentialState; readonly variable?: string };
}

/** Which credentials must be accepted in each phase, and under which variable a container finds each. */
export const ROTATION_STEPS: readonly RotationStep[] = [
  {
    phase: null,
    title: 'Steady',
    meaning: 'One credential, delivered to every instance.',
    old: { state: 'in use', variable: 'NAME_key' },
    fresh: { state: 'not yet' },
  },
  {
    phase: 'stage',
    title: 'Staged',
    meaning: 'The new credential is delivered beside the old one. Both must be accepted from now on.',
    old: { state: 'in use', variable: 'NAME_key' },
    fresh: { state: 'valid', variable: 'NAME_key_NEXT' },
  },
  {
    phase: 'promote',
    title: 'Promoted',
    meaning: 'Instances use the new credential; the old one is still delivered, and still accepted.',
    old: { state: 'valid', variable: 'NAME_key_PREVIOUS' },
    fresh: { state: 'in use', variable: 'NAME_key' },
  },
  {
    phase: 'retire',
    title: 'Retired',
    meaning:
      'Only the new credential is delivered. When the rollout is complete, the old one may be revoked.',
    old: { state: 'may be revoked' },
    fresh: { state: 'in use', variable: 'NAME_key' },
  },
];

export const PHASE_VERB: Readonly<Record<RotationPhase, string>> = {
  stage: 'Stage the new credential',
  promote: 'Promote the new credential',
  retire: 'Retire the old credential',
  abort: 'Abort the rotation',
};

export const ABORT_MEANING = 'The old credential is delivered alone again, as it was before the rotation.';
