import type { Clock } from '../../clock.ts';

/** The part of the time after a start in which no node fails, within which all agents are to be back. */
const BACK_WITHIN = 2 / 3;
const MAX_WAIT_SECONDS = 30;

/**
 * New sessions per second: `least`, and of so many nodes that they would not all be back before their silence counts, as many as it takes.
 * A control plane that turns agents away longer than it waits for them would replace what runs on their nodes.
 */
export function acceptsPerSecond(least: number, nodes: number, startGraceMs: number): number {
  return Math.max(least, Math.ceil(nodes / ((startGraceMs / 1000) * BACK_WITHIN)));
}

/** At most `perSecond` in any second; the rest gets a retry delay, spread by how many are waiting. */
export class AcceptRate {
  readonly #perSecond: () => number;
  readonly #clock: Clock;
  /** Times of the accepts of the last second, oldest at `#oldest`. */
  #accepted: number[] = [];
  #oldest = 0;
  #refused = 0;
  #refusedSince = 0;

  constructor(perSecond: () => number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
  }

  /** Undefined: accepted. */
  retryAfterSeconds(): number | undefined {
    const now = this.#clock.monotonicMs();
    this.#forget(now);
    const perSecond = this.#perSecond();
    if (this.#accepted.length - this.#oldest < perSecond) {
      this.#accepted.push(now);
      return undefined;
    }
    if (now - this.#refusedSince >= 1000) {
      this.#refusedSince = now;
      this.#refused = 0;
    }
    this.#refused += 1;
    return 1 + Math.min(MAX_WAIT_SECONDS - 1, Math.floor(this.#refused / perSecond));
  }

  #forget(now: number): void {
    while (now - (this.#accepted[this.#oldest] ?? now) >= 1000) this.#oldest += 1;
    if (this.#oldest * 2 <= this.#accepted.length) return;
    this.#accepted = this.#accepted.slice(this.#oldest);
    this.#oldest = 0;
  }
}
