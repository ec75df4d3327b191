const PERIOD_MS = 250;
/** Shorter delays are of a busy process, and harm nobody who has seconds. */
const STALLED_MS = 2 * PERIOD_MS;

interface Stall {
  readonly endMs: number;
  readonly lastedMs: number;
}

/** When the event loop stood still: this process was stopped, had no processor, or was busy with something else. */
export class LoopStalls {
  readonly #keptMs: number;
  readonly #timer: NodeJS.Timeout;
  #stalls: Stall[] = [];
  #seenMs = performance.now();

  constructor(keptMs: number) {
    this.#keptMs = keptMs;
    this.#timer = setInterval(() => {
      this.#look();
      this.#seenMs = performance.now();
    }, PERIOD_MS).unref();
  }

  /** How long it stood still, of stalls that ended in the last so many milliseconds. */
  within(ms: number): number {
    this.#look();
    const sinceMs = performance.now() - ms;
    let lastedMs = 0;
    for (const stall of this.#stalls) if (stall.endMs > sinceMs) lastedMs += stall.lastedMs;
    return lastedMs;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#seenMs = Number.POSITIVE_INFINITY;
  }

  #look(): void {
    const endMs = performance.now();
    const lastedMs = endMs - this.#seenMs;
    if (lastedMs < STALLED_MS) return;
    this.#seenMs = endMs;
    this.#stalls = this.#stalls.filter((stall) => stall.endMs > endMs - this.#keptMs);
    this.#stalls.push({ endMs, lastedMs });
  }
}
