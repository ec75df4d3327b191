import type { Clock } from '../clock.ts';

/** A token bucket for the messages of one session. */
export class MessageRate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(limit: { readonly perSecond: number; readonly burst: number }, clock: Clock) {
    this.#perSecond = limit.perSecond;
    this.#burst = limit.burst;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#at = clock.monotonicMs();
  }

  take(): boolean {
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
