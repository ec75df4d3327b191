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

/** What the source gives until it is aborted. A silent source is not waited for then, nor for its end when nobody reads on. */
export async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  // One for all pieces: a race of each with the signal would keep them all until it is aborted.
  let refuse: (reason: unknown) => void = () => {};
  const abort = (): void => refuse(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>();
      refuse = reject;
      iterator.next().then(resolve, reject);
      const next = await promise;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    iterator.return?.().catch(() => {});
  }
}
