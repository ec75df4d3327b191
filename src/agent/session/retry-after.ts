const LONGEST_MS = 300_000;

/** Seconds, or a date as HTTP writes it; bounded, so that a wrong answer does not keep a node away for days. */
export function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_MS, Math.max(0, ms));
}
