import { Client } from '../client.ts';
import type { CommandEntry } from '../command.ts';
import { readContexts, resolveTarget } from '../context.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Session } from '../session.ts';
import { type Place, placeOf } from './line.ts';
import { recordNames, safeNames } from './names.ts';
import { FILES_MARK } from './protocol.ts';

/** Somebody waits at a prompt; a control plane that takes longer answers nothing. */
const TIMEOUT_MS = 1000;

/** What the last of these words may become, one a line. Never says what went wrong, and never asks: there is a half-typed line. */
export async function answerCompletion(
  commands: readonly CommandEntry[],
  argv: readonly string[],
  session: Session,
): Promise<ExitCode> {
  const words = argv[0] === '--' ? argv.slice(1) : argv;
  try {
    const place = await placeOf(commands, words);
    if (place?.names === 'files') session.terminal.out(`${FILES_MARK}\n`);
    else if (place !== undefined)
      for (const word of await candidates(session, place)) session.terminal.out(`${place.before}${word}\n`);
  } catch {
    // Signed out, refused, unreachable, too slow.
  }
  return EXIT.ok;
}

async function candidates(session: Session, place: Place): Promise<readonly string[]> {
  const { words, names, typed, parameters } = place;
  const known = words.filter((word) => word.startsWith(typed));
  if (names === undefined || names === 'files') return known;
  const named = await namesOf(session, place, names).catch(() => []);
  return [
    ...known,
    ...named.filter((name) => name.startsWith(typed) && !parameters.slice(1).includes(name)).toSorted(),
  ];
}

async function namesOf(
  { environment, interrupted }: Session,
  { options, parameters }: Place,
  names: Exclude<NonNullable<Place['names']>, 'files'>,
): Promise<readonly string[]> {
  if (names === 'contexts') return safeNames(Object.keys(readContexts(environment).contexts));
  const tenant = names === 'tenants' ? undefined : options.text('tenant');
  const target = resolveTarget({ context: options.text('context'), tenant }, environment);
  if (target.token === undefined) return [];
  const signal = AbortSignal.any([interrupted, AbortSignal.timeout(TIMEOUT_MS)]);
  return recordNames(new Client(target, signal), names, parameters);
}
