/** Full jitter: anything from zero to a bound that doubles, so that clients cut off together do not return together. */
export function backOffMs(attempt: number, baseMs: number, maxMs: number): number {
  return Math.random() * Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 20));
}
