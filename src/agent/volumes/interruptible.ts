/** Work of which there is one at a time, and that somebody else may have to end. */
export class Interruptible {
  #now: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;

  async during(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const stop = new AbortController();
    this.#now = { stop, ended };
    try {
      await work(stop.signal);
    } finally {
      this.#now = undefined;
      end();
    }
  }

  /** Resolves when it has ended, whichever way. */
  async end(): Promise<void> {
    const { stop, ended } = this.#now ?? {};
    stop?.abort();
    await ended;
  }
}
