const REDACTED = '[redacted]';

/**
 * Text that must not appear in a log line, a response, an event or an error. Every implicit way to text gives
 * `[redacted]`; `reveal` is the only way to the material, so that each use can be found by its name.
 */
export class SecretValue {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  /** Comparison, concatenation and template strings ask here before `toString`. */
  [Symbol.toPrimitive](): string {
    return REDACTED;
  }

  /** `util.inspect` and the console look this symbol up in the global registry; no import is needed. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}
