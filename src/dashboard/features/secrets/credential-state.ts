import type { RotationPhase } from '../../../core/model/deployment.ts';
import type { HookName } from '../../../core/model/rotation-hook.ts';
import type { HookRun, Secret } from './secret-queries.ts';

type Rotated = Pick<Secret, 'rotation' | 'nextPhase' | 'hooks' | 'hookRuns'>;

/** The phase that the whole credential has reached. */
export function phaseAccepted({ rotation }: Pick<Secret, 'rotation'>): RotationPhase | null {
  if (rotation === undefined) return null;
  return rotation.phase === 'staged' ? 'stage' : 'promote';
}

export interface HookEntry {
  readonly hook: HookName;
  readonly job: string;
  /** In the rotation under way. */
  readonly run?: HookRun;
}

/** The hooks in the order in which they run; with a run of a job that is a hook no more, while the rotation remembers it. */
export function hookEntries({ hooks = {}, hookRuns = [] }: Rotated): readonly HookEntry[] {
  return (['apply', 'revoke'] as const).flatMap((hook) => {
    const run = hookRuns.find((one) => one.hook === hook);
    const job = run?.job ?? hooks[hook];
    return job === undefined ? [] : [{ hook, job, ...(run && { run }) }];
  });
}

/** The phase that runs a failed hook again; nothing, where none has failed. */
export function retryPhase({ nextPhase }: Rotated, { state, swapped }: HookRun): RotationPhase | undefined {
  if (state !== 'Failed' && state !== 'Cancelled') return undefined;
  return swapped === true ? 'abort' : nextPhase;
}

/** Where the rotation stands, and what it waits for. */
export function rotationSentence(secret: Rotated): { readonly isCalm: boolean; readonly text: string } {
  const { rotation, nextPhase, hookRuns = [] } = secret;
  if (rotation === undefined) return { isCalm: true, text: 'No rotation is under way.' };
  const open = hookRuns.find(({ state }) => state !== 'Succeeded');
  if (open !== undefined) {
    const phase = open.swapped === true ? 'abort' : nextPhase;
    const text =
      retryPhase(secret, open) === undefined
        ? `${phase} waits for the hook ${open.hook}: the job ${open.job} is under way. Ask for ${phase} again when it has succeeded.`
        : `${phase} is held back by the hook ${open.hook}: the job ${open.job} did not succeed.`;
    return { isCalm: false, text };
  }
  if (rotation.phase === 'retiring')
    return {
      isCalm: false,
      text: 'A deployment has given up the old credential: there is no way back, and retire is due for the others.',
    };
  return { isCalm: false, text: `A rotation is under way; ${nextPhase} is due.` };
}
