import type { Option } from './command.ts';
import { EXIT } from './exit-code.ts';
import { Failure, usage } from './failure.ts';
import type { OptionValues } from './option-values.ts';
import type { Session } from './session.ts';

export const YES_OPTION: Option = {
  flags: '-y, --yes',
  description:
    'Do not ask. Without a terminal nobody can be asked, and the command refuses unless this is given.',
};

export interface Question {
  /** What is about to happen. */
  readonly what: string;
  /** The question at a terminal. */
  readonly ask: string;
  /** What is true when nobody said yes. */
  readonly otherwise: string;
  /** The flag that says yes beforehand. */
  readonly flag: string;
}

/** What cannot be undone needs a yes: at the terminal, or by a flag where there is none. Silence is no yes. */
export async function confirm(
  { terminal }: Session,
  { what, ask, otherwise, flag }: Question,
): Promise<void> {
  if (!terminal.interactive) throw usage(`${what}; ${otherwise}`, [`Say that it is meant: ${flag}`]);
  const answer = await terminal.ask(`${ask} [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new Failure(otherwise, { exitCode: EXIT.usage });
}

type Confirm = (session: Session, what: string, options: OptionValues) => Promise<void>;

/** Asked before what `--yes` says beforehand. */
function confirming(verb: string, doing: string, done: string): Confirm {
  return async (session, what, options) => {
    if (options.flag('yes')) return;
    await confirm(session, {
      what: `${doing} ${what} needs a yes`,
      ask: `${verb} ${what}?`,
      otherwise: `nothing was ${done}`,
      flag: '--yes',
    });
  };
}

export const confirmDeletion = confirming('Delete', 'deleting', 'deleted');
export const confirmRevocation = confirming('Revoke', 'revoking', 'revoked');
