import type { CommandBody, CommandEntry, NamedKind, Option, Parameter } from '../command.ts';
import { OptionValues } from '../option-values.ts';

/** What may stand in the place of the word that is typed. */
export interface Place {
  /** Words that are known without asking anybody. */
  readonly words: readonly string[];
  /** Names of records, too. */
  readonly names?: NamedKind | 'kind' | 'owner';
  /** Values before it on the line. */
  readonly parameters: readonly string[];
  /** `--context` and `--tenant` of the line say who is asked. */
  readonly options: OptionValues;
  /** The part of the word that was typed, and what stands before it in the same word (`--tenant=`). */
  readonly typed: string;
  readonly before: string;
}

interface Typed {
  /** Whole words, without the one that is typed. */
  readonly whole: readonly string[];
  /** The flag whose value is typed after `=`. */
  readonly flag?: string;
  readonly typed: string;
  readonly before: string;
}

/** bash makes three words of `--tenant=acme`; other shells give it as one. */
function typedWord(words: readonly string[]): Typed {
  const isSign = (at: number): boolean => words.at(at) === '=' && words.at(at - 1)?.startsWith('--') === true;
  const whole = words.filter((word, at) => word !== '=' || at === 0 || !words[at - 1]?.startsWith('--'));
  if (isSign(-1)) return { whole, typed: '', before: '' };
  const typed = words.at(-1) ?? '';
  const sign = typed.startsWith('--') ? typed.indexOf('=') : -1;
  if (sign === -1) return { whole: whole.slice(0, -1), typed, before: '' };
  return {
    whole: whole.slice(0, -1),
    flag: typed.slice(0, sign),
    typed: typed.slice(sign + 1),
    before: typed.slice(0, sign + 1),
  };
}

function optionOf(body: CommandBody, word: string): Option | undefined {
  return (body.options ?? []).find(({ flags }) => flags.split(/[ ,]+/).includes(word));
}

const takesValue = ({ flags }: Option): boolean => flags.includes('<');

export function longFlag({ flags }: Option): string {
  return /--[a-z-]+/.exec(flags)?.[0] ?? flags;
}

/** Placeholders of options that name a file of this machine. */
const FILES = /<(?:file|folder|path)>/;

function optionWords({ values, names, flags }: Option): Pick<Place, 'words' | 'names'> {
  if (values !== undefined) return { words: values };
  if (names !== undefined) return { words: [], names };
  return FILES.test(flags) ? { words: [], names: 'files' } : { words: [] };
}

function parameterAt({ parameters = [] }: CommandBody, at: number): Parameter | undefined {
  const last = parameters.at(-1);
  return parameters[at] ?? (last?.term.includes('...') === true ? last : undefined);
}

/** The words before the typed one, as the parser of the program would take them. */
function walked(
  body: CommandBody,
  words: readonly string[],
): { body: CommandBody; parameters: string[]; values: Record<string, string>; open?: Option; over: boolean } {
  const parameters: string[] = [];
  const values: Record<string, string> = {};
  let [inner, open, over]: [CommandBody, Option | undefined, boolean] = [body, undefined, false];
  for (const word of words) {
    if (open !== undefined) {
      values[longFlag(open).slice(2)] = word;
      open = undefined;
    } else if (word === '--') over = true;
    else if (word.startsWith('-') && word !== '-') {
      const [flag = '', value] = word.split('=');
      const option = optionOf(inner, flag);
      if (option === undefined || !takesValue(option)) continue;
      if (value === undefined) open = option;
      else values[longFlag(option).slice(2)] = value;
    } else {
      const below = inner.subcommands?.find(
        ({ name, aliases = [] }) => parameters.length === 0 && (name === word || aliases.includes(word)),
      );
      if (below === undefined) parameters.push(word);
      else inner = below;
    }
    if (over) break;
  }
  return { body: inner, parameters, values, over, ...(open === undefined ? {} : { open }) };
}

/** What the word at the end of a line may become; undefined: nothing is known about it. */
export async function placeOf(
  commands: readonly CommandEntry[],
  words: readonly string[],
): Promise<Place | undefined> {
  const { whole, flag, typed, before } = typedWord(words[0] === 'help' ? words.slice(1) : words);
  const none = { parameters: [], options: new OptionValues({}), typed, before };
  const [first, ...rest] = whole;
  if (first === undefined) return { ...none, words: [...commands.map(({ name }) => name), 'agent', 'help'] };
  const entry = commands.find(({ name }) => name === first);
  if (entry === undefined) return undefined;
  const { body, parameters, values, open, over } = walked(await entry.load(), rest);
  const place = { ...none, parameters, options: new OptionValues(values) };
  // What follows belongs to another program.
  if (over || (body.passThrough === true && parameters.length > (body.parameters ?? []).length))
    return undefined;
  const option = flag === undefined ? open : optionOf(body, flag);
  if (option !== undefined) return { ...place, ...optionWords(option) };
  if (flag !== undefined) return undefined;
  if (typed.startsWith('-')) return { ...place, words: [...(body.options ?? []).map(longFlag), '--help'] };
  const subcommands = parameters.length === 0 ? (body.subcommands ?? []).map(({ name }) => name) : [];
  const parameter = parameterAt(body, parameters.length);
  const known = [...subcommands, ...(parameter?.values ?? [])];
  return { ...place, words: known, ...(parameter?.names !== undefined && { names: parameter.names }) };
}
