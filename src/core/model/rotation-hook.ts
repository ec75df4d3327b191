import type { JobId } from './ids.ts';

/**
 * Jobs of the tenant that the rotation of a credential runs. `apply` makes the new values valid beside the old ones, once
 * every container holds both; `revoke` takes the old ones away, once no container depends on them.
 */
export interface CredentialHooks {
  readonly apply?: string;
  readonly revoke?: string;
}

export type HookName = keyof CredentialHooks;

/** A run that a rotation asked for. A job that was made again under its name is another one. */
export interface HookRun {
  readonly job: string;
  readonly jobId: JobId;
  readonly run: string;
}

/**
 * What a rotation has asked of its hooks. `undone` is `apply` with the values swapped, on the way back: it takes the place
 * of the runs that it undoes, so that a rotation that goes on after all runs them again.
 */
export interface RotationHooks {
  readonly applied?: HookRun;
  readonly revoked?: HookRun;
  readonly undone?: HookRun;
}

/** What the container of a hook's run is given: `current` as the values, `previous` beside them. */
export interface HookDelivery {
  readonly hook: HookName;
  /** `<namespace>/<label>` of the credential. */
  readonly path: string;
  readonly current: number;
  readonly previous: number;
}

/** The runs that a phase waits for, in this order; a phase that is not in the list waits for none. */
export function hooksBefore(
  phase: 'stage' | 'promote' | 'retire' | 'abort',
  hooks: CredentialHooks,
  asked: RotationHooks,
): readonly (keyof RotationHooks)[] {
  const apply = hooks.apply === undefined ? [] : (['applied'] as const);
  switch (phase) {
    case 'stage':
      return [];
    case 'promote':
      return apply;
    case 'retire':
      return [
        // After a way back that was begun, what it undid has to be valid again before the old one goes.
        ...((asked.undone ?? asked.applied) === undefined ? [] : apply),
        ...(hooks.revoke === undefined ? [] : (['revoked'] as const)),
      ];
    case 'abort':
      // Nothing was changed outside before a hook was asked for.
      return Object.keys(asked).length === 0 || hooks.apply === undefined ? [] : ['undone'];
  }
}

export function hookOf(slot: keyof RotationHooks): HookName {
  return slot === 'revoked' ? 'revoke' : 'apply';
}

/** What is remembered once a run was asked for: the way forth forgets the way back, and the other way round. */
export function askedFor(asked: RotationHooks, slot: keyof RotationHooks, run: HookRun): RotationHooks {
  if (slot !== 'revoked') return { [slot]: run };
  const { undone: _back, ...forth } = asked;
  return { ...forth, revoked: run };
}
