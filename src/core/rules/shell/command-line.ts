import { type Token, tokensOf, type Word } from './words.ts';

export interface Redirection {
  readonly operator: string;
  readonly target: Word;
}

/** A command line as a tree. Only what decides its last status is kept. */
export type Command =
  | {
      readonly kind: 'simple';
      readonly words: readonly Word[];
      readonly redirections: readonly Redirection[];
    }
  | { readonly kind: 'pipeline'; readonly commands: readonly Command[]; readonly negated: boolean }
  | { readonly kind: 'and' | 'or' | 'then'; readonly left: Command; readonly right: Command }
  | { readonly kind: 'background' | 'subshell'; readonly body: Command }
  | {
      readonly kind: 'if';
      readonly condition: Command;
      readonly body: Command;
      readonly otherwise?: Command | undefined;
    }
  | { readonly kind: 'for'; readonly body: Command }
  | { readonly kind: 'nothing' };

const NOTHING: Command = { kind: 'nothing' };
const REDIRECTS = new Set(['<', '>', '>>', '<&', '>&', '<>', '>|', '&>', '&>>', '<<<']);
const SEPARATORS = new Set([';', '&', '\n']);
/** Words that begin or end something which this reader does not follow. */
const NOT_FOLLOWED = new Set(['while', 'until', 'case', 'esac', 'function', 'select', '[[', 'coproc', '!']);
/** Behind `time`, where bash reads a command of any kind and others the name of a program. */
const COMPOUND = new Set(['{', 'if', 'for', 'time']);
const ENDS = new Set(['then', 'elif', 'else', 'fi', 'do', 'done', '}']);
const MAX_DEPTH = 32;

/** Thrown inside this file only: the line is wrong, or of a kind that is not followed. */
class Unread extends Error {}

class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth: number;

  constructor(text: string, depth: number) {
    const tokens = tokensOf(text);
    if (tokens === undefined) throw new Unread();
    this.#tokens = tokens;
    this.#depth = depth;
  }

  whole(): Command {
    const command = this.#list();
    if (this.#at < this.#tokens.length) throw new Unread();
    return command;
  }

  #peek(): Token | undefined {
    return this.#tokens[this.#at];
  }

  #operator(): string | undefined {
    const token = this.#peek();
    return token?.kind === 'operator' ? token.text : undefined;
  }

  /** A reserved word counts only unquoted, where a command may begin. */
  #reserved(): string | undefined {
    const token = this.#peek();
    return token?.kind === 'word' ? token.raw : undefined;
  }

  #expect(word: string): void {
    if (this.#reserved() !== word) throw new Unread();
    this.#at += 1;
  }

  #skipLines(): void {
    while (this.#operator() === '\n') this.#at += 1;
  }

  #endsList(): boolean {
    const token = this.#peek();
    if (token === undefined) return true;
    return token.kind === 'operator' ? token.text === ')' : ENDS.has(token.raw);
  }

  #list(): Command {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new Unread();
    let list: Command = NOTHING;
    this.#skipLines();
    while (!this.#endsList()) {
      const item = this.#andOr();
      const separator = this.#operator();
      const next: Command = separator === '&' ? { kind: 'background', body: item } : item;
      list = list.kind === 'nothing' ? next : { kind: 'then', left: list, right: next };
      if (separator !== undefined && SEPARATORS.has(separator)) this.#at += 1;
      else if (!this.#endsList()) throw new Unread();
      this.#skipLines();
    }
    this.#depth -= 1;
    return list;
  }

  /** A list where the shell demands a command. */
  #body(): Command {
    const body = this.#list();
    if (body.kind === 'nothing') throw new Unread();
    return body;
  }

  #andOr(): Command {
    let left = this.#pipeline();
    for (
      let operator = this.#operator();
      operator === '&&' || operator === '||';
      operator = this.#operator()
    ) {
      this.#at += 1;
      this.#skipLines();
      left = { kind: operator === '&&' ? 'and' : 'or', left, right: this.#pipeline() };
    }
    return left;
  }

  #pipeline(): Command {
    const negated = this.#reserved() === '!';
    if (negated) this.#at += 1;
    const commands = [this.#command()];
    while (this.#operator() === '|' || this.#operator() === '|&') {
      this.#at += 1;
      this.#skipLines();
      commands.push(this.#command());
    }
    const [only] = commands;
    return commands.length === 1 && !negated && only !== undefined
      ? only
      : { kind: 'pipeline', commands, negated };
  }

  #command(): Command {
    const word = this.#reserved();
    if (this.#operator() === '(') {
      this.#at += 1;
      const body = this.#body();
      if (this.#operator() !== ')') throw new Unread();
      this.#at += 1;
      return this.#compound({ kind: 'subshell', body });
    }
    if (word === '{') {
      this.#at += 1;
      const body = this.#body();
      this.#expect('}');
      return this.#compound(body);
    }
    if (word === 'if') return this.#compound(this.#conditional());
    if (word === 'for') return this.#compound(this.#loop());
    if (word !== undefined && (NOT_FOLLOWED.has(word) || ENDS.has(word))) throw new Unread();
    if (word === 'time') this.#checkTimed();
    return this.#simple();
  }

  #checkTimed(): void {
    const words = this.#tokens.slice(this.#at + 1, this.#at + 3);
    const [first, second] = words.map((token) => (token.kind === 'word' ? token.raw : undefined));
    const timed = first === '-p' ? second : first;
    if (timed === undefined || [NOT_FOLLOWED, COMPOUND, ENDS].some((reserved) => reserved.has(timed)))
      throw new Unread();
  }

  /** A redirection that fails keeps a whole block from running; none is looked for behind one. */
  #compound(command: Command): Command {
    const operator = this.#operator();
    if (operator !== undefined && (REDIRECTS.has(operator) || operator.startsWith('<<'))) throw new Unread();
    return command;
  }

  #conditional(): Command {
    this.#at += 1;
    const condition = this.#body();
    this.#expect('then');
    const body = this.#body();
    const word = this.#reserved();
    if (word === 'elif') return { kind: 'if', condition, body, otherwise: this.#conditional() };
    let otherwise: Command | undefined;
    if (word === 'else') {
      this.#at += 1;
      otherwise = this.#body();
    }
    this.#expect('fi');
    return { kind: 'if', condition, body, otherwise };
  }

  #loop(): Command {
    this.#at += 1;
    while (this.#peek()?.kind === 'word' && this.#reserved() !== 'do') this.#at += 1;
    if (this.#operator() === ';') this.#at += 1;
    this.#skipLines();
    this.#expect('do');
    const body = this.#body();
    this.#expect('done');
    return { kind: 'for', body };
  }

  #simple(): Command {
    const words: Word[] = [];
    const redirections: Redirection[] = [];
    for (let token = this.#peek(); token !== undefined; token = this.#peek()) {
      if (token.kind === 'word') {
        words.push(token);
        this.#at += 1;
        continue;
      }
      if (!REDIRECTS.has(token.text)) break;
      const target = this.#tokens[this.#at + 1];
      if (target?.kind !== 'word') throw new Unread();
      redirections.push({ operator: token.text, target });
      this.#at += 2;
    }
    // A function (`name()`) and an operator where a command belongs end up here too.
    if ((words.length === 0 && redirections.length === 0) || this.#operator() === '(') throw new Unread();
    const [program, ...operands] = words;
    const texts = operands.map(({ literal }) => literal);
    const isEval = program?.raw === 'eval' && redirections.length === 0 && !texts.includes(undefined);
    return isEval
      ? new Reader(texts.join(' '), this.#depth).whole()
      : { kind: 'simple', words, redirections };
  }
}

/** Nothing when the line is wrong or uses what is not followed: loops on a condition, `case`, functions, here-documents. */
export function readCommandLine(text: string): Command | undefined {
  try {
    return new Reader(text, 0).whole();
  } catch (error) {
    if (error instanceof Unread) return undefined;
    throw error;
  }
}
