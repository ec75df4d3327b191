export interface BackOff {
  readonly baseMs: number;
  readonly capMs: number;
}

/** The delay after `failures` failures in a row (1 for the first). */
export function backOffMs(failures: number, { baseMs, capMs }: BackOff): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
}

/** Full jitter: thousands of agents that lost one control plane come back evenly spread. */
export function fullJitterMs(failures: number, backOff: BackOff, random: () => number): number {
  return random() * backOffMs(failures, backOff);
}
