/** At most `limit` pieces of work at once; the others wait their turn. */
export class Gate {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(limit: number) {
    this.#limit = Math.max(1, limit);
  }

  async enter(): Promise<void> {
    if (this.#inside < this.#limit) {
      this.#inside += 1;
      return;
    }
    // The place is handed over by `leave`, so that no other caller can slip in between.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inside -= 1;
    else next();
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }
}
