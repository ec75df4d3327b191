import { setTimeout as pause } from 'node:timers/promises';
import type { ExitCode } from './exit-code.ts';
import type { Step } from './progress.ts';
import type { Session } from './session.ts';

const POLL_MS = 300;

/**
 * Looks again and again until there is a status to end with; until then a look answers how far it is. Ctrl-C ends the looking, and not
 * what is looked at.
 */
export async function watched(
  session: Session,
  label: string,
  look: (step: Step) => Promise<ExitCode | string>,
  what = 'it',
): Promise<ExitCode> {
  const step = session.progress().step(label);
  let last = '';
  try {
    for (;;) {
      const seen = await look(step);
      if (typeof seen !== 'string') return seen;
      last = seen;
      step.note(seen);
      await pause(POLL_MS, undefined, { signal: session.interrupted });
    }
  } catch (error) {
    const so = last === '' ? '' : ` (${last})`;
    step.fail(
      session.interrupted.aborted
        ? `not waited for any longer${so}; ${what} goes on without this program`
        : 'could not be watched',
    );
    throw error;
  }
}
