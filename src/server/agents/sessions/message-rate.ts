import type { Clock } from '../../clock.ts';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket for what one session sends. */
export class MessageRate {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(limit: Rate, clock: Clock) {
    this.#perSecond = limit.perSecond;
    this.#burst = limit.burst;
    this.#clock = clock;
    this.#tokens = limit.burst;
    this.#at = clock.monotonicMs();
  }

  take(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** What has come already is paid for, if need be later. Answers in how many ms it is. */
  spend(amount: number): number {
    this.#refill();
    this.#tokens -= amount;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1000;
  }

  get isFull(): boolean {
    this.#refill();
    return this.#tokens >= this.#burst;
  }

  #refill(): void {
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1000) * this.#perSecond);
    this.#at = now;
  }
}
