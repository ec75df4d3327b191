export interface OnceOptions<Key> {
  readonly onFault: (fault: unknown, key: Key) => void;
  /** How it is asked for once more; absent: at once. */
  readonly again?: (key: Key) => void;
}

/** A task that is done once at a time for each key. A call meanwhile is served by one more run that begins after the end. */
export class Once<Key> {
  readonly #task: (key: Key) => Promise<void>;
  readonly #options: OnceOptions<Key>;
  readonly #running = new Map<Key, Promise<void>>();
  readonly #asked = new Set<Key>();

  constructor(task: (key: Key) => Promise<void>, options: OnceOptions<Key>) {
    this.#task = task;
    this.#options = options;
  }

  ask(key: Key): void {
    if (this.#running.has(key)) {
      this.#asked.add(key);
      return;
    }
    const { onFault, again = (one) => this.ask(one) } = this.#options;
    const running = this.#task(key)
      .catch((fault: unknown) => onFault(fault, key))
      .finally(() => {
        this.#running.delete(key);
        if (this.#asked.delete(key)) again(key);
      });
    this.#running.set(key, running);
  }

  /** Resolves when what runs now has ended. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
