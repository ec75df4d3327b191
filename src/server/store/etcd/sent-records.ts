import type { Commit, Put } from '../kv.ts';

/** What a watch that is away leaves behind; what it brings later is decoded, as that of other processes is. */
const MAX_HELD = 8_192;

/** Of one transaction. */
interface Held {
  readonly puts: ReadonlyMap<string, Put>;
  left: number;
}

/**
 * The records of values that this process has sent, until the watch brings them back: a value that comes back as it was sent need not be
 * decoded. Held before the transaction is sent, as the watch may be faster than the answer; told apart by the value, so that it does not matter
 * whose transaction it was.
 *
 * A map for each, which goes as a whole: one for all, in which keys come and go, is made anew all the time, and the old ones, that nobody looks at any more,
 * would keep what they held until the next collection of the whole heap.
 */
export class SentRecords {
  #held: Held[] = [];
  #size = 0;

  /** To be called when they turn out not to be stored. */
  hold(commits: readonly Commit[]): () => void {
    const puts = new Map<string, Put>();
    for (const commit of commits)
      for (const put of commit.puts ?? []) if (put.record !== undefined) puts.set(put.key, put);
    const held = { puts, left: puts.size };
    if (held.left === 0) return () => undefined;
    this.#held.push(held);
    this.#size += held.left;
    while (this.#size > MAX_HELD && this.#held[0] !== undefined) this.#drop(this.#held[0]);
    return () => this.#drop(held);
  }

  /** What was sent with this value. */
  take(key: string, value: string): Put | undefined {
    for (const held of this.#held) {
      const put = held.puts.get(key);
      if (put?.value !== value) continue;
      held.left -= 1;
      this.#size -= 1;
      if (held.left === 0) this.#drop(held);
      return put;
    }
    return undefined;
  }

  /** Another watch begins: what the one before did not bring this one will not. */
  clear(): void {
    this.#held = [];
    this.#size = 0;
  }

  #drop(held: Held): void {
    if (!this.#held.includes(held)) return;
    this.#held = this.#held.filter((one) => one !== held);
    this.#size -= held.left;
  }
}
