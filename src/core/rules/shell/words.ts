import { constantValue } from './arithmetic.ts';

/** One word of a command line. `literal` is its text after quoting, absent when an expansion decides it. */
export interface Word {
  readonly kind: 'word';
  readonly raw: string;
  readonly literal?: string;
  /** Holds `$(…)` or backquotes: the status of an assignment is that of the last of them. */
  readonly substitutes: boolean;
  /** Expanding it may end the shell: `${NAME:?}`, arithmetic. */
  readonly mayAbort: boolean;
}

export interface Operator {
  readonly kind: 'operator';
  readonly text: string;
}

export type Token = Word | Operator;

const OPERATORS = [
  '&>>',
  '<<-',
  '<<<',
  '&&',
  '||',
  ';;',
  '|&',
  '>>',
  '<<',
  '<&',
  '>&',
  '<>',
  '>|',
  '&>',
  '&',
  '|',
  ';',
  '(',
  ')',
  '<',
  '>',
  '\n',
];
const BLANK = /[ \t\r]/;
const ENDS_WORD = /[ \t\r\n&|;()<>]/;

function operatorAt(text: string, at: number): string | undefined {
  return OPERATORS.find((operator) => text.startsWith(operator, at));
}

/** The index behind the bracket that closes what opens before `from`, quotes respected; -1 without one. */
function closing(text: string, from: number, open: string, close: string): number {
  let depth = 1;
  for (let at = from; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\') at += 1;
    else if (char === "'" || char === '"') {
      at = quoteEnd(text, at);
      if (at === -1) return -1;
    } else if (char === open) depth += 1;
    else if (char === close) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** The index of the quote that ends the one at `from`; -1 without one. */
function quoteEnd(text: string, from: number): number {
  const quote = text.charAt(from);
  for (let at = from + 1; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === quote) return at;
    if (char === '\\' && quote !== "'") at += 1;
  }
  return -1;
}

interface Expansion {
  readonly end: number;
  readonly substitutes: boolean;
  readonly mayAbort: boolean;
  /** What it expands to whatever the variables are: arithmetic of constants. */
  readonly literal?: string;
}

/** What `$` or a backquote at `at` begins; nothing for a plain dollar sign, null when it never ends. */
function expansionAt(text: string, at: number): Expansion | null | undefined {
  if (text.charAt(at) === '`') {
    const end = quoteEnd(text, at);
    return end === -1 ? null : { end: end + 1, substitutes: true, mayAbort: false };
  }
  const next = text.charAt(at + 1);
  if (next === '(') {
    const end = closing(text, at + 2, '(', ')');
    const arithmetic = text.charAt(at + 2) === '(';
    const value =
      arithmetic && text.endsWith('))', end) ? constantValue(text.slice(at + 3, end - 2)) : undefined;
    if (value !== undefined) return { end, substitutes: false, mayAbort: false, literal: String(value) };
    return end === -1 ? null : { end, substitutes: !arithmetic, mayAbort: arithmetic };
  }
  if (next === '{') {
    const end = closing(text, at + 2, '{', '}');
    if (end === -1) return null;
    const inner = text.slice(at + 2, end - 1);
    return { end, substitutes: /[`(]/.test(inner), mayAbort: !/^[A-Za-z0-9_]+$/.test(inner) };
  }
  const name = /^[A-Za-z_][A-Za-z0-9_]*|^[0-9?#@*!$-]/.exec(text.slice(at + 1, at + 257));
  return name === null ? undefined : { end: at + 1 + name[0].length, substitutes: false, mayAbort: false };
}

class WordReader {
  readonly #text: string;
  readonly #start: number;
  #at: number;
  #literal: string | undefined = '';
  #substitutes = false;
  #mayAbort = false;

  constructor(text: string, start: number) {
    this.#text = text;
    this.#start = start;
    this.#at = start;
  }

  get end(): number {
    return this.#at;
  }

  read(): Word | undefined {
    while (this.#at < this.#text.length && !ENDS_WORD.test(this.#text.charAt(this.#at))) {
      if (!this.#take()) return undefined;
    }
    return {
      kind: 'word',
      raw: this.#text.slice(this.#start, this.#at),
      ...(this.#literal === undefined ? {} : { literal: this.#literal }),
      substitutes: this.#substitutes,
      mayAbort: this.#mayAbort,
    };
  }

  /** False when a quote or an expansion never ends. */
  #take(): boolean {
    const char = this.#text.charAt(this.#at);
    if (char === "'") return this.#takeSingleQuoted();
    if (char === '"') return this.#takeDoubleQuoted();
    if (char === '\\') {
      const next = this.#text.charAt(this.#at + 1);
      this.#add(next === '\n' ? '' : next);
      this.#at += 2;
      return true;
    }
    if (char === '$' || char === '`') return this.#takeExpansion();
    this.#add(char);
    this.#at += 1;
    return true;
  }

  #takeSingleQuoted(): boolean {
    const end = quoteEnd(this.#text, this.#at);
    if (end === -1) return false;
    this.#add(this.#text.slice(this.#at + 1, end));
    this.#at = end + 1;
    return true;
  }

  #takeDoubleQuoted(): boolean {
    this.#at += 1;
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at);
      if (char === '"') {
        this.#at += 1;
        return true;
      }
      if (char === '\\') {
        const next = this.#text.charAt(this.#at + 1);
        this.#add(next === '\n' ? '' : /["\\$`]/.test(next) ? next : `\\${next}`);
        this.#at += 2;
      } else if (char === '$' || char === '`') {
        if (!this.#takeExpansion()) return false;
      } else {
        this.#add(char);
        this.#at += 1;
      }
    }
    return false;
  }

  #takeExpansion(): boolean {
    const expansion = expansionAt(this.#text, this.#at);
    if (expansion === null) return false;
    if (expansion === undefined) {
      this.#add('$');
      this.#at += 1;
      return true;
    }
    if (expansion.literal === undefined) this.#literal = undefined;
    else this.#add(expansion.literal);
    this.#substitutes ||= expansion.substitutes;
    this.#mayAbort ||= expansion.mayAbort;
    this.#at = expansion.end;
    return true;
  }

  #add(text: string): void {
    if (this.#literal !== undefined) this.#literal += text;
  }
}

/** The words and operators of a command line without its comments; nothing when a quote or an expansion never ends. */
export function tokensOf(text: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const char = text.charAt(at);
    if (BLANK.test(char)) at += 1;
    else if (char === '\\' && text.charAt(at + 1) === '\n') at += 2;
    else if (char === '#') {
      const end = text.indexOf('\n', at);
      at = end === -1 ? text.length : end;
    } else {
      const operator = operatorAt(text, at);
      if (operator !== undefined) {
        tokens.push({ kind: 'operator', text: operator });
        at += operator.length;
        continue;
      }
      const reader = new WordReader(text, at);
      const word = reader.read();
      if (word === undefined) return undefined;
      at = reader.end;
      // `2>` names a descriptor; the digits are no word of the command.
      if (/^\d+$/.test(word.raw) && /[<>]/.test(text.charAt(at))) continue;
      tokens.push(word);
    }
  }
  return tokens;
}
