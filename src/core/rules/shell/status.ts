import { type Command, type Redirection, readCommandLine } from './command-line.ts';
import { type Wrapper, wrappedWords, wrapperOf } from './wrappers.ts';
import type { Word } from './words.ts';

/**
 * How a command may end, as a set of bits: it goes on with status zero or another, or it ends the shell with one of them. What
 * is unknown may end in either way, so that only a command that certainly cannot fail is ever told to be one.
 */
const OK = 1;
const FAIL = 2;
const EXIT_OK = 4;
const EXIT_FAIL = 8;
const EITHER = OK | FAIL;
const ANY = EITHER | EXIT_OK | EXIT_FAIL;
const EXITS = EXIT_OK | EXIT_FAIL;

/** Longer lines are scripts, and are not read. */
const MAX_EXAMINED = 4096;

const SHELL = /^(?:\/(?:usr\/)?bin\/)?(?:sh|bash|ash|dash|zsh|ksh)$/;
const ALWAYS_OK = new Set([':', 'true', 'echo']);
/** Without operands they print something that is always there. */
const OK_ALONE = new Set(['pwd', 'date', 'uname', 'nice']);
/** At the end of a pipeline, reading what comes in. */
const OK_AS_SINK = new Set(['cat', 'head', 'tail', 'wc', 'sort', 'uniq', 'nl', 'tac', 'rev']);
/** They change what the commands after them mean, or run what is not seen here. */
const CHANGES_SHELL = new Set([
  'shopt',
  'trap',
  'eval',
  '.',
  'source',
  'return',
  'kill',
  'alias',
  'unalias',
  'enable',
  'readonly',
  'typeset',
  'declare',
  'local',
  'unset',
  'shift',
  'getopts',
  'ulimit',
]);
const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;
/** Of the builtins that POSIX calls special: a redirection that fails ends the shell. */
const SPECIAL = new Set([':', 'exit', 'exec', 'export', 'eval', 'set']);
/** No programs: what starts programs does not find them. */
const BUILTINS = new Set([':', 'exit', 'exec', 'eval', 'set', 'command', 'builtin']);
/** What `set` turns on and off here without changing more than is followed. */
const SET_FOLLOWED = /^(?:-[aefvx]+|\+[aefuvx]+)$/;

interface Context {
  /** How the command before may have ended, for `exit` without a number. */
  readonly before: number;
  readonly isSink: boolean;
  /** `sh -e`: a failure ends the shell. */
  readonly errexit: boolean;
  /** Started by a program: there are no builtins. */
  readonly outside: boolean;
  /** What lasts is stopped, and that is a failure. */
  readonly stopped: boolean;
}

const AT_START: Context = { before: OK, isSink: false, errexit: false, outside: false, stopped: false };

/** A subshell's end is a status like any other. */
function inSubshell(ends: number): number {
  return (ends & (OK | EXIT_OK) ? OK : 0) | (ends & (FAIL | EXIT_FAIL) ? FAIL : 0);
}

/** `exec` puts the program in the place of the shell. */
function asExit(ends: number): number {
  const seen = inSubshell(ends);
  return (seen & OK ? EXIT_OK : 0) | (seen & FAIL ? EXIT_FAIL : 0);
}

function programName(word: string): string {
  return word.replace(/^\/(?:usr\/)?bin\//, '');
}

function isHarmless({ operator, target }: Redirection): boolean {
  if (operator === '>&' || operator === '<&') return /^[012]$/.test(target.literal ?? '');
  return (
    target.literal === '/dev/null' || target.literal === '/dev/stderr' || target.literal === '/dev/stdout'
  );
}

function exitEnds(operand: Word | undefined, before: number): number {
  if (operand === undefined || operand.raw === '$?' || operand.raw === '"$?"') {
    return (before & OK ? EXIT_OK : 0) | (before & FAIL ? EXIT_FAIL : 0);
  }
  if (operand.literal === undefined) return EXITS;
  // Longer numbers do not fit everywhere; of others the last eight bits count.
  if (/^\d{10,}$/.test(operand.literal)) return EXITS;
  return /^\d+$/.test(operand.literal) && Number(operand.literal) % 256 === 0 ? EXIT_OK : EXIT_FAIL;
}

/** `[ 1 ]`, `test a = a`: what compares nothing but constants. */
function testEnds(operands: readonly (string | undefined)[]): number {
  const [left, operator, right] = operands;
  if (operands.some((operand) => operand === undefined)) return EITHER;
  if (operands.length === 1) return left === '' ? FAIL : OK;
  if (operands.length === 2 && left === '-n') return operator === '' ? FAIL : OK;
  if (operands.length === 2 && left === '-z') return operator === '' ? OK : FAIL;
  const compares = operator === '=' || operator === '==' || operator === '-eq';
  return operands.length === 3 && compares && left === right ? OK : EITHER;
}

function printfEnds([format]: readonly (string | undefined)[]): number {
  return format === undefined || /[%\\]|^-/.test(format.replaceAll('%s', '').replaceAll('\\n', ''))
    ? EITHER
    : OK;
}

/** Options and counts only: a file among the operands may be missing. */
function readsInputOnly(operands: readonly (string | undefined)[]): boolean {
  return operands.every((operand) => operand !== undefined && /^(?:-[A-Za-z0-9]*|[+]?\d+)$/.test(operand));
}

function shellEnds(operands: readonly (string | undefined)[], { stopped }: Context): number {
  const at = operands.findIndex((operand) => operand === undefined || !/^-[a-z]+$/.test(operand));
  const options = operands.slice(0, Math.max(at, 0)).join('');
  const text = operands[at];
  if (at < 1 || text === undefined || !options.includes('c') || /[^-celix]/.test(options)) return EITHER;
  return inSubshell(lineEnds(text, { ...AT_START, errexit: options.includes('e'), stopped }));
}

function programEnds(name: string, words: readonly Word[], context: Context): number {
  const operands = words.map(({ literal }) => literal);
  if (SHELL.test(name)) return shellEnds(operands, context);
  const program = programName(name);
  if (context.outside && BUILTINS.has(program)) return ANY;
  if (ALWAYS_OK.has(program)) return OK;
  if (words.length === 0 && OK_ALONE.has(program)) return OK;
  const wrapper = wrapperOf(program);
  if (wrapper) return wrapperEnds(wrapper, words, context);
  if (program === 'false') return FAIL;
  // With two, bash goes on with a failure, and other shells exit with the first.
  if (program === 'exit') return words.length > 1 ? ANY : exitEnds(words[0], context.before);
  if (program === 'exec')
    return words.length === 0 ? OK : asExit(startedEnds(words, { ...context, outside: true }));
  if (program === 'set') return isFollowed(words) ? OK : ANY;
  if (program === 'printf') return printfEnds(operands);
  if (program === 'test') return testEnds(operands);
  if (program === '[' && operands.at(-1) === ']') return testEnds(operands.slice(0, -1));
  if (program === 'tee') return context.isSink ? OK : EITHER;
  if (OK_AS_SINK.has(program)) return context.isSink && readsInputOnly(operands) ? OK : EITHER;
  return CHANGES_SHELL.has(program) ? ANY : EITHER;
}

/** A program with its operands; unlike in a line, no assignments come before it. */
function startedEnds([program, ...words]: readonly Word[], context: Context): number {
  if (program === undefined) return OK;
  return program.literal === undefined ? EITHER : programEnds(program.literal, words, context);
}

function wrapperEnds(wrapper: Wrapper, words: readonly Word[], context: Context): number {
  const wrapped = wrappedWords(wrapper, words);
  if (wrapped === undefined) return EITHER;
  return startedEnds(wrapped, {
    ...context,
    outside: context.outside || !wrapper.inShell,
    stopped: context.stopped || wrapper.stops === true,
    isSink: context.isSink && !wrapper.stops,
  });
}

function isFollowed(operands: readonly Word[]): boolean {
  return operands.every(({ literal }) => literal !== undefined && SET_FOLLOWED.test(literal));
}

/** Assignments before a program change nothing; alone they end as the last substitution in them. */
function wordsEnd(words: readonly Word[], context: Context): number {
  const first = words.findIndex(({ raw }) => !ASSIGNMENT.test(raw));
  if (first === -1) return words.some(({ substitutes }) => substitutes) ? EITHER : OK;
  return startedEnds(words.slice(first), context);
}

function simpleEnds(words: readonly Word[], redirections: readonly Redirection[], context: Context): number {
  let ends = wordsEnd(words, context);
  const everyWord = [...words, ...redirections.map(({ target }) => target)];
  if (everyWord.some(({ mayAbort }) => mayAbort)) ends |= EXIT_FAIL;
  if (redirections.every(isHarmless)) return ends;
  return ends | FAIL | (SPECIAL.has(words[0]?.literal ?? '') ? EXIT_FAIL : 0);
}

/** `left` in the way of `right`: what goes on with one of `continues` is followed by it. */
function chained(left: number, continues: number, right: (before: number) => number): number {
  const goesOn = left & continues;
  return (left & ~continues) | (goesOn === 0 ? 0 : right(goesOn));
}

function endsOf(command: Command, context: Context): number {
  const { errexit } = context;
  switch (command.kind) {
    case 'nothing':
      return OK;
    case 'simple':
      return simpleEnds(command.words, command.redirections, context);
    case 'subshell':
      return inSubshell(endsOf(command.body, context));
    case 'background':
      return OK;
    case 'and':
    case 'or':
      return chained(
        endsOf(command.left, { ...context, isSink: false }),
        command.kind === 'and' ? OK : FAIL,
        (before) => endsOf(command.right, { ...context, before, isSink: false }),
      );
    case 'then': {
      const left = endsOf(command.left, { ...context, isSink: false });
      const early = errexit && left & FAIL ? EXIT_FAIL : 0;
      return (
        early |
        chained(left, EITHER, (before) => endsOf(command.right, { ...context, before, isSink: false }))
      );
    }
    case 'if': {
      const condition = endsOf(command.condition, context);
      const { body, otherwise } = command;
      const skipped = otherwise === undefined ? OK : endsOf(otherwise, { ...context, before: FAIL });
      return (
        (condition & EXITS) |
        (condition & OK ? endsOf(body, { ...context, before: OK }) : 0) |
        (condition & FAIL ? skipped : 0)
      );
    }
    case 'for':
      return OK | endsOf(command.body, { ...context, before: EITHER });
    case 'pipeline': {
      const last = command.commands.at(-1);
      if (last === undefined) return EITHER;
      const isSink = command.commands.length > 1;
      const ends = endsOf(last, { ...context, isSink });
      const seen = isSink ? inSubshell(ends) : ends;
      if (!command.negated) return seen;
      return (seen & EXITS) | (seen & OK ? FAIL : 0) | (seen & FAIL ? OK : 0);
    }
  }
}

/** What a command does to those after it, the greater the less of them is known. */
const NO_EFFECT = 0;
const ENDS_ON_FAILURE = 1;
const UNSEEN = 2;

function effectOf(words: readonly Word[]): number {
  const first = words.findIndex(({ raw }) => !ASSIGNMENT.test(raw));
  const program = words[first]?.literal;
  if (program === undefined) return NO_EFFECT;
  const operands = words.slice(first + 1);
  const wrapper = wrapperOf(program);
  if (wrapper) return effectOf(wrappedWords(wrapper, operands) ?? []);
  if (program !== 'set') return CHANGES_SHELL.has(program) ? UNSEEN : NO_EFFECT;
  if (!isFollowed(operands)) return UNSEEN;
  return operands.some(({ literal }) => /^-.*e/.test(literal ?? '')) ? ENDS_ON_FAILURE : NO_EFFECT;
}

/** `set`, `trap` and the like count wherever they stand, also in a part of a pipeline that is not the last. */
function effectWithin(command: Command): number {
  switch (command.kind) {
    case 'nothing':
      return NO_EFFECT;
    case 'simple':
      return effectOf(command.words);
    case 'subshell':
    case 'background':
    case 'for':
      return effectWithin(command.body);
    case 'and':
    case 'or':
    case 'then':
      return Math.max(effectWithin(command.left), effectWithin(command.right));
    case 'if':
      return Math.max(
        ...[command.condition, command.body, command.otherwise ?? command.body].map(effectWithin),
      );
    case 'pipeline':
      return Math.max(...command.commands.map(effectWithin));
  }
}

function lineEnds(text: string, context: Context): number {
  if (text.length > MAX_EXAMINED) return ANY;
  const line = readCommandLine(text);
  if (line === undefined) return ANY;
  const effect = effectWithin(line);
  // Of what may be stopped before its end, one command is judged and no more.
  const isOne = line.kind === 'simple' && !line.words.some(({ substitutes }) => substitutes);
  if (effect === UNSEEN || (context.stopped && !isOne)) return ANY;
  return endsOf(line, { ...context, errexit: context.errexit || effect === ENDS_ON_FAILURE });
}

/** Whether the last status of a command, in shell form (one element) or argv form, can never be other than zero. */
export function cannotFail(command: readonly string[]): boolean {
  const [first, ...rest] = command;
  if (first === undefined) return false;
  const line = first === 'eval' ? rest.join(' ') : first;
  const ends =
    rest.length === 0 || first === 'eval'
      ? lineEnds(line, AT_START)
      : programEnds(
          first,
          rest.map((word) => ({
            kind: 'word',
            raw: word,
            literal: word,
            substitutes: false,
            mayAbort: false,
          })),
          AT_START,
        );
  return (ends & (FAIL | EXIT_FAIL)) === 0;
}
