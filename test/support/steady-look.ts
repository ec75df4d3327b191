import { setTimeout as pause } from 'node:timers/promises';

export interface Seen {
  readonly looks: number;
  /** What was seen that was not as at the first look, each once. */
  readonly changes: readonly string[];
  /** Looks that had no answer, each reason once. */
  readonly failures: readonly string[];
  readonly failed: number;
  /** Of all looks, in order of length. */
  readonly tookMs: readonly number[];
}

export interface SteadyLook {
  /** Ends it and tells what was seen. */
  end(): Promise<Seen>;
}

/** Processes stay different once they changed, and a state is that for longer than this; each look costs engines several calls. */
const EVERY_MS = 250;

export function percentile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** Looks again and again at what must stay as it is, beside whatever a test does meanwhile. */
export function lookSteadily(
  read: () => Promise<unknown>,
  expected?: unknown,
  everyMs = EVERY_MS,
): SteadyLook {
  const changes = new Set<string>();
  const failures = new Set<string>();
  const tookMs: number[] = [];
  let first = expected === undefined ? undefined : JSON.stringify(expected);
  let failed = 0;
  let ended = false;

  const look = async (): Promise<void> => {
    const began = performance.now();
    try {
      const seen = JSON.stringify(await read());
      first ??= seen;
      if (seen !== first) changes.add(seen);
    } catch (error) {
      failed += 1;
      const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
      failures.add(`${String(error)}${cause}`);
    }
    tookMs.push(performance.now() - began);
  };
  const looking = (async () => {
    while (!ended) {
      await look();
      await pause(everyMs);
    }
  })();

  return {
    end: async () => {
      ended = true;
      await looking;
      return {
        looks: tookMs.length,
        changes: [...changes],
        failures: [...failures],
        failed,
        tookMs: tookMs.toSorted((a, b) => a - b),
      };
    },
  };
}
