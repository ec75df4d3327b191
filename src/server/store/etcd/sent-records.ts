import type { Put } from '../kv.ts';

/** What a watch that is away leaves behind; what it brings later is decoded, as that of other processes is. */
const MAX_HELD = 8_192;

/**
 * The records of values that this process has sent, until the watch brings them back: a value that comes back as it was sent need not be
 * decoded. Held before the commit is sent, as the watch may be faster than the answer; told apart by the value, so that it does not matter
 * whose commit it was.
 */
export class SentRecords {
  readonly #sent = new Map<string, Put>();

  hold(puts: readonly Put[]): void {
    for (const put of puts) if (put.record !== undefined) this.#sent.set(put.key, put);
    for (const key of this.#sent.keys()) {
      if (this.#sent.size <= MAX_HELD) return;
      this.#sent.delete(key);
    }
  }

  /** They were not stored. */
  drop(puts: readonly Put[]): void {
    for (const put of puts) if (this.#sent.get(put.key) === put) this.#sent.delete(put.key);
  }

  /** What was sent with this value, once. */
  take(key: string, value: string): Put | undefined {
    const put = this.#sent.get(key);
    if (put?.value !== value) return undefined;
    this.#sent.delete(key);
    return put;
  }
}
