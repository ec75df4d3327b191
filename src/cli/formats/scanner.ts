/** What is wrong in an expression, and where. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  /** Of the first character that does not fit, from 0. */
  readonly at: number;

  constructor(what: string, at: number) {
    super(what);
    this.at = at;
  }
}

const NAME_START = /[A-Za-z_]/;
const NAME = /[A-Za-z0-9_-]/;

/** Goes over a text once, from its beginning to its end. */
export class Scanner {
  readonly text: string;
  at: number;
  /** Filters that are open. */
  depth = 0;
  readonly #end: number;

  constructor(text: string, from = 0, end = text.length) {
    this.text = text;
    this.at = from;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end;
  }

  get next(): string {
    return this.isAtEnd ? '' : (this.text[this.at] ?? '');
  }

  /** Goes on behind it, if it stands here. */
  takes(word: string): boolean {
    if (!this.text.startsWith(word, this.at) || this.at + word.length > this.#end) return false;
    this.at += word.length;
    return true;
  }

  expect(word: string, why: string): void {
    if (!this.takes(word)) throw this.error(`expected ${word} ${why}`);
  }

  blanks(): void {
    while (this.next === ' ') this.at += 1;
  }

  error(what: string, at = this.at): ExpressionError {
    return new ExpressionError(at >= this.#end ? `${what}, but it ends here` : what, at);
  }

  name(): string {
    const from = this.at;
    if (!NAME_START.test(this.next)) throw this.error('expected the name of a field');
    while (NAME.test(this.next)) this.at += 1;
    return this.text.slice(from, this.at);
  }

  /** In single or double quotes; undefined: none stands here. A backslash takes the next character as it is. */
  quoted(): string | undefined {
    const sign = this.next;
    if (sign !== "'" && sign !== '"') return undefined;
    const from = this.at;
    const parts: string[] = [];
    for (this.at += 1; this.next !== sign; this.at += 1) {
      if (this.next === '\\') this.at += 1;
      if (this.isAtEnd) throw new ExpressionError('a text that is not closed', from);
      parts.push(this.next);
    }
    this.at += 1;
    return parts.join('');
  }

  /** A whole number, or with `fraction` any; undefined: none stands here. */
  number(fraction: boolean): number | undefined {
    const from = this.at;
    this.takes('-');
    const digits = this.at;
    while (this.next >= '0' && this.next <= '9') this.at += 1;
    if (this.at === digits) {
      this.at = from;
      return undefined;
    }
    if (fraction && this.takes('.')) while (this.next >= '0' && this.next <= '9') this.at += 1;
    return Number(this.text.slice(from, this.at));
  }
}
