import type { Clock } from '../../clock.ts';

/** At most `perSecond` in any second; the rest gets a retry delay, spread by how many are waiting. */
export class AcceptRate {
  readonly #perSecond: number;
  readonly #clock: Clock;
  /** Times of the last accepts, oldest at `#next`. */
  readonly #accepted: number[];
  #next = 0;
  #refused = 0;
  #refusedSince = 0;

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#accepted = Array.from({ length: perSecond }, () => Number.NEGATIVE_INFINITY);
  }

  /** Undefined: accepted. */
  retryAfterSeconds(): number | undefined {
    const now = this.#clock.monotonicMs();
    if (now - (this.#accepted[this.#next] ?? 0) >= 1000) {
      this.#accepted[this.#next] = now;
      this.#next = (this.#next + 1) % this.#perSecond;
      return undefined;
    }
    if (now - this.#refusedSince >= 1000) {
      this.#refusedSince = now;
      this.#refused = 0;
    }
    this.#refused += 1;
    return 1 + Math.min(MAX_WAIT_SECONDS - 1, Math.floor(this.#refused / this.#perSecond));
  }
}

const MAX_WAIT_SECONDS = 30;
