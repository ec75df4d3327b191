import { type Command, type Redirection, readCommandLine } from './command-line.ts';
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
const OK_ALONE = new Set(['pwd', 'date', 'uname', 'env']);
/** At the end of a pipeline, reading what comes in. */
const OK_AS_SINK = new Set(['cat', 'head', 'tail', 'wc', 'sort', 'uniq', 'nl', 'tac', 'rev']);
/** They change what the commands after them mean, or run what is not seen here. */
const CHANGES_SHELL = new Set([
  'set',
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
/** They set up the environment or skip functions, and end as what they start. */
const WRAPPERS = new Set(['command', 'builtin', 'busybox']);
/** Of the builtins that POSIX calls special: a redirection that fails ends the shell. */
const SPECIAL = new Set([':', 'exit', 'exec', 'export']);

interface Context {
  /** How the command before may have ended, for `exit` without a number. */
  readonly before: number;
  readonly isSink: boolean;
  /** `sh -e`: a failure ends the shell. */
  readonly errexit: boolean;
}

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
  return /^0+$/.test(operand.literal) ? EXIT_OK : EXIT_FAIL;
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

function shellEnds(operands: readonly (string | undefined)[]): number {
  const at = operands.findIndex((operand) => operand === undefined || !/^-[a-z]+$/.test(operand));
  const options = operands.slice(0, Math.max(at, 0)).join('');
  const text = operands[at];
  if (at < 1 || text === undefined || !options.includes('c') || /[^-celix]/.test(options)) return EITHER;
  return inSubshell(lineEnds(text, options.includes('e')));
}

function programEnds(name: string, words: readonly Word[], context: Context): number {
  const operands = words.map(({ literal }) => literal);
  if (SHELL.test(name)) return shellEnds(operands);
  const program = programName(name);
  if (ALWAYS_OK.has(program)) return OK;
  if (OK_ALONE.has(program)) return words.length === 0 ? OK : EITHER;
  if (WRAPPERS.has(program)) return wordsEnd(words, context);
  if (program === 'false') return FAIL;
  if (program === 'exit') return exitEnds(words[0], context.before);
  if (program === 'exec') return words.length === 0 ? OK : asExit(wordsEnd(words, context));
  if (program === 'printf') return printfEnds(operands);
  if (program === 'test') return testEnds(operands);
  if (program === '[' && operands.at(-1) === ']') return testEnds(operands.slice(0, -1));
  if (program === 'tee') return context.isSink ? OK : EITHER;
  if (OK_AS_SINK.has(program)) return context.isSink && readsInputOnly(operands) ? OK : EITHER;
  return CHANGES_SHELL.has(program) ? ANY : EITHER;
}

/** Assignments before a program change nothing; alone they end as the last substitution in them. */
function wordsEnd(words: readonly Word[], context: Context): number {
  const first = words.findIndex(({ raw }) => !ASSIGNMENT.test(raw));
  const program = words[first];
  if (program === undefined) return words.some(({ substitutes }) => substitutes) ? EITHER : OK;
  if (program.literal === undefined) return EITHER;
  return programEnds(program.literal, words.slice(first + 1), context);
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
    case 'if':
      return (
        chained(endsOf(command.condition, context), EITHER, () => 0) |
        endsOf(command.body, { ...context, before: OK }) |
        (command.otherwise === undefined ? OK : endsOf(command.otherwise, { ...context, before: FAIL }))
      );
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

function startsWithChange(words: readonly Word[]): boolean {
  const program = words.find(({ raw }) => !ASSIGNMENT.test(raw) && !WRAPPERS.has(raw));
  return program?.literal !== undefined && CHANGES_SHELL.has(program.literal);
}

/** `set`, `trap` and the like count wherever they stand, also in a part of a pipeline that is not the last. */
function changesShell(command: Command): boolean {
  switch (command.kind) {
    case 'nothing':
      return false;
    case 'simple':
      return startsWithChange(command.words);
    case 'subshell':
    case 'background':
    case 'for':
      return changesShell(command.body);
    case 'and':
    case 'or':
    case 'then':
      return changesShell(command.left) || changesShell(command.right);
    case 'if':
      return [command.condition, command.body, command.otherwise ?? command.body].some(changesShell);
    case 'pipeline':
      return command.commands.some(changesShell);
  }
}

function lineEnds(text: string, errexit: boolean): number {
  if (text.length > MAX_EXAMINED) return ANY;
  const line = readCommandLine(text);
  if (line === undefined || changesShell(line)) return ANY;
  return endsOf(line, { before: OK, isSink: false, errexit });
}

/** Whether the last status of a command, in shell form (one element) or argv form, can never be other than zero. */
export function cannotFail(command: readonly string[]): boolean {
  const [first, ...rest] = command;
  if (first === undefined) return false;
  const ends =
    rest.length === 0
      ? lineEnds(first, false)
      : programEnds(
          first,
          rest.map((word) => ({
            kind: 'word',
            raw: word,
            literal: word,
            substitutes: false,
            mayAbort: false,
          })),
          { before: OK, isSink: false, errexit: false },
        );
  return (ends & (FAIL | EXIT_FAIL)) === 0;
}
