import type { Word } from './words.ts';

/** A command that ends as the one behind its own options does. */
export interface Wrapper {
  /** Options that stand in one word. */
  readonly options?: RegExp;
  /** Options whose value is the next word. */
  readonly valued?: Readonly<Record<string, RegExp>>;
  /** One option is demanded. */
  readonly demandsOption?: true;
  /** What comes between the options and the command. */
  readonly operand?: RegExp;
  /** `NAME=value` before the command. */
  readonly assigns?: true;
  /** Without a command it prints something that is always there. */
  readonly alone?: true;
  /** Part of the shell: what it starts may be a builtin. */
  readonly inShell?: true;
  /** What lasts is stopped, and that is a failure. */
  readonly stops?: true;
}

/** From a second on: in less a machine under load may not even start a program. */
const DURATION = /^(?:0*[1-9]\d*(?:\.\d+)?|0+)[smhd]?$/;
const NAME = /^[A-Za-z0-9_.-]+$/;

/** Only options that change nothing about how the command ends: with any other the program is taken for one that may fail. */
const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  command: { inShell: true, options: /^-p$/ },
  builtin: { inShell: true },
  // A word of bash, in other shells a program.
  time: { options: /^-p$/ },
  busybox: {},
  nohup: {},
  env: {
    options: /^-$|^-i$|^-u[^=]+$|^--(?:ignore-environment|unset=[^=]+)$/,
    valued: { '-u': /^[^=]+$/, '--unset': /^[^=]+$/ },
    assigns: true,
    alone: true,
  },
  // A lower value is not granted to everybody.
  nice: {
    options: /^-(?:n?\d+|-adjustment=\d+)$/,
    valued: { '-n': /^\d+$/, '--adjustment': /^\d+$/ },
  },
  ionice: {
    options: /^-(?:t|c[023]|n[0-7]|-ignore|-class=[023]|-classdata=[0-7])$/,
    valued: { '-c': /^[023]$/, '-n': /^[0-7]$/, '--class': /^[023]$/, '--classdata': /^[0-7]$/ },
  },
  setsid: { options: /^-(?:w|-wait)$/ },
  stdbuf: {
    options: /^-(?:[oe]L|[ioe]\d+[kKM]?|-(?:output|error)=L|-(?:input|output|error)=\d+[kKM]?)$/,
    valued: { '-i': /^\d+[kKM]?$/, '-o': /^(?:L|\d+[kKM]?)$/, '-e': /^(?:L|\d+[kKM]?)$/ },
    demandsOption: true,
  },
  sudo: {
    options: /^-(?:[nEH]+|-non-interactive|-preserve-env|-set-home|-user=.+|-group=.+)$/,
    valued: { '-u': NAME, '-g': NAME, '--user': NAME, '--group': NAME },
    assigns: true,
  },
  timeout: {
    options:
      /^-(?:v|-verbose|-foreground|-preserve-status|s[A-Z]+\d?|-signal=[A-Z]+\d?|-kill-after=\d+[smhd]?)$/,
    valued: {
      '-s': /^[A-Z]+\d?$|^\d+$/,
      '--signal': /^[A-Z]+\d?$|^\d+$/,
      '-k': DURATION,
      '--kill-after': DURATION,
    },
    operand: DURATION,
    stops: true,
  },
};

/** With another PATH it may be another program, or none. */
const ASSIGNED = /^(?!PATH=)[^=]+=/;

export function wrapperOf(program: string): Wrapper | undefined {
  return Object.hasOwn(WRAPPERS, program) ? WRAPPERS[program] : undefined;
}

/** The words of the command behind a wrapper's own; nothing where those are not all known. */
export function wrappedWords(wrapper: Wrapper, words: readonly Word[]): readonly Word[] | undefined {
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at]?.literal;
    if (word === undefined) return undefined;
    const value = wrapper.valued?.[word];
    if (value !== undefined) {
      at += 1;
      if (!value.test(words[at]?.literal ?? '')) return undefined;
    } else if (wrapper.options?.test(word) !== true) break;
  }
  if (wrapper.demandsOption && at === 0) return undefined;
  if (words[at]?.literal === '--') at += 1;
  if (wrapper.operand) {
    if (!wrapper.operand.test(words[at]?.literal ?? '')) return undefined;
    at += 1;
  }
  while (wrapper.assigns && ASSIGNED.test(words[at]?.literal ?? '')) at += 1;
  return at < words.length || wrapper.alone ? words.slice(at) : undefined;
}
