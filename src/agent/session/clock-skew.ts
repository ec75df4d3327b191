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

/**
 * This machine's clock against the control plane's. Nothing is decided by it: it is told, because certificates and WireGuard's greetings
 * are judged by clocks. What the other clock says now is what it said when the session began, and the time since, which no clock is asked for.
 */
export class ClockSkew {
  #aheadOfMonotonicMs: number | undefined;

  learn(serverMs: number | undefined, monotonicMs: number): void {
    this.#aheadOfMonotonicMs = serverMs === undefined ? undefined : serverMs - monotonicMs;
  }

  problem(nowMs: number, monotonicMs: number): string | undefined {
    if (this.#aheadOfMonotonicMs === undefined) return undefined;
    const skewMs = nowMs - (this.#aheadOfMonotonicMs + monotonicMs);
    const span = SPANS.find(([least]) => Math.abs(skewMs) >= least)?.[1];
    return span === undefined
      ? undefined
      : `the clock of this machine is more than ${span} ${skewMs > 0 ? 'ahead of' : 'behind'} the control plane's, and certificates are judged by it: let both keep time (systemd-timesyncd, chrony)`;
  }
}
