import type { Clock } from '../clock.ts';

interface Bucket {
  tokens: number;
  at: number;
}

export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

const MAX_BUCKETS = 100_000;

/** A token bucket per key. Answers the seconds to wait, or undefined when the request may pass. */
export class RateLimiter {
  readonly limit: RateLimit;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(limit: RateLimit, clock: Clock) {
    this.limit = limit;
    this.#clock = clock;
  }

  /** What a request turned out to cost beyond the one it was admitted for; the next ones wait until it is made up for. */
  charge(key: string, requests: number): void {
    const bucket = this.#filled(key);
    bucket.tokens = Math.max(bucket.tokens - requests, -this.limit.burst);
  }

  retryAfterSeconds(key: string): number | undefined {
    const bucket = this.#filled(key);
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1;
      return undefined;
    }
    return Math.max(1, Math.ceil((1 - bucket.tokens) / this.limit.perSecond));
  }

  #filled(key: string): Bucket {
    const now = this.#clock.monotonicMs();
    const { perSecond, burst } = this.limit;
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      // Bounded: the oldest bucket goes; at worst its owner gets a fresh burst.
      if (this.#buckets.size >= MAX_BUCKETS) {
        const oldest = this.#buckets.keys().next().value;
        if (oldest !== undefined) this.#buckets.delete(oldest);
      }
      bucket = { tokens: burst, at: now };
      this.#buckets.set(key, bucket);
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    return bucket;
  }
}
