import type { Clock } from '../../clock.ts';
import { MessageRate, type Rate } from './message-rate.ts';

/** Rates by what they are of. One that was not touched for long is full again and forgotten. */
export class KeyedRate {
  readonly #limit: Rate;
  readonly #clock: Clock;
  readonly #byKey = new Map<string, MessageRate>();
  readonly #fullAfterMs: number;
  #sweepAtMs: number;

  constructor(limit: Rate, clock: Clock) {
    this.#limit = limit;
    this.#clock = clock;
    this.#fullAfterMs = (limit.burst / limit.perSecond) * 1000;
    this.#sweepAtMs = clock.monotonicMs() + this.#fullAfterMs;
  }

  take(key: string): boolean {
    this.#sweep();
    let rate = this.#byKey.get(key);
    if (rate === undefined) {
      rate = new MessageRate(this.#limit, this.#clock);
      this.#byKey.set(key, rate);
    }
    return rate.take();
  }

  #sweep(): void {
    const now = this.#clock.monotonicMs();
    if (now < this.#sweepAtMs) return;
    this.#sweepAtMs = now + this.#fullAfterMs;
    for (const [key, rate] of this.#byKey) if (rate.isFull) this.#byKey.delete(key);
  }
}
