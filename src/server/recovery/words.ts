import { nearest } from '../../core/schema/nearest.ts';
import { RecoveryError } from './failure.ts';

/** A flag of one of these commands; all other flags are settings of the control plane. */
export interface Flag {
  readonly name: string;
  readonly value: string;
  readonly about: string;
}

export interface Words {
  readonly values: Readonly<Record<string, string>>;
  /** Words that are no flags. */
  readonly files: readonly string[];
  /** Settings, for the configuration. */
  readonly settings: readonly string[];
}

/** Settings without a value of their own. */
const SWITCHES = /^--insecure-listen$/;

export function readWords(args: readonly string[], flags: readonly Flag[]): Words {
  const values: Record<string, string> = {};
  const files: string[] = [];
  const settings: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (!word.startsWith('-') || word === '-') {
      files.push(word);
      continue;
    }
    const [name = '', inline] = word.split(/=(.*)/s, 2);
    const own = flags.some((flag) => flag.name === name);
    const next = args[at + 1];
    const isApart = inline === undefined && !SWITCHES.test(name);
    if (isApart) at += 1;
    if (own) {
      const value = inline ?? next;
      if (value === undefined || value === '' || (isApart && value.startsWith('--')))
        throw new RecoveryError('usage', `${name} needs a value`);
      values[name] = value;
    } else settings.push(word, ...(isApart && next !== undefined ? [next] : []));
  }
  return { values, files, settings };
}

export function requireNoFiles(files: readonly string[]): void {
  if (files.length > 0) throw new RecoveryError('usage', `${files.join(' ')}: no word is expected there`);
}

export function unknownCommand(word: string, known: readonly string[]): RecoveryError {
  const near = nearest(word, [...known]);
  return new RecoveryError(
    'usage',
    `berth server has no command ${word}${near === undefined ? '' : `; did you mean ${near}?`} (berth server --help)`,
  );
}
