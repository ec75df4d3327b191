const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** In steps, so that a clock that is being set right is not told anew with every second. */
const SPANS: readonly (readonly [number, string])[] = [
  [365 * DAY_MS, 'a year'],
  [30 * DAY_MS, 'a month'],
  [DAY_MS, 'a day'],
  [HOUR_MS, 'an hour'],
  [MINUTE_MS, 'a minute'],
];

/** From here on nothing new is placed on the machine, until it is less than a minute. */
const FAULT_MS = 5 * MINUTE_MS;

/**
 * This machine's clock against the control plane's: certificates and WireGuard's greetings are judged by clocks. What the other clock
 * says now is what it said when the session began, and the time since, which no clock is asked for.
 */
export class ClockSkew {
  #aheadOfMonotonicMs: number | undefined;
  #uncertainMs = 0;
  #isFault = false;

  /** The answer was written at some moment of the round trip: half of it may be due to the way. */
  learn(serverMs: number | undefined, monotonicMs: number, roundTripMs = 0): void {
    this.#uncertainMs = roundTripMs / 2;
    this.#aheadOfMonotonicMs =
      serverMs === undefined ? undefined : serverMs - (monotonicMs - this.#uncertainMs);
  }

  /** Too much for new work here. */
  fault(nowMs: number, monotonicMs: number): string | undefined {
    const skewMs = this.#skewMs(nowMs, monotonicMs);
    this.#isFault = Math.abs(skewMs) >= (this.#isFault ? MINUTE_MS : FAULT_MS);
    return this.#isFault ? textOf(skewMs) : undefined;
  }

  /** Less than that, and still to be told. */
  problem(nowMs: number, monotonicMs: number): string | undefined {
    if (this.fault(nowMs, monotonicMs) !== undefined) return undefined;
    const skewMs = this.#skewMs(nowMs, monotonicMs);
    return Math.abs(skewMs) < MINUTE_MS ? undefined : textOf(skewMs);
  }

  /** So much at least; 0: not known, or within what the way may have taken. */
  #skewMs(nowMs: number, monotonicMs: number): number {
    if (this.#aheadOfMonotonicMs === undefined) return 0;
    const skewMs = nowMs - (this.#aheadOfMonotonicMs + monotonicMs);
    return Math.sign(skewMs) * Math.max(0, Math.abs(skewMs) - this.#uncertainMs);
  }
}

function textOf(skewMs: number): string {
  const span = SPANS.find(([least]) => Math.abs(skewMs) >= least)?.[1] ?? 'a minute';
  return `the clock of this machine is more than ${span} ${skewMs > 0 ? 'ahead of' : 'behind'} the control plane's, and certificates are judged by it: let both keep time (systemd-timesyncd, chrony)`;
}
