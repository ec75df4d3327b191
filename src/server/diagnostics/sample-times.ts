/** Of metrics within the time that a report lasts, the first and the last included. */
const SAMPLES = 7;
const SHORTEST_STEP_MS = 1000;

/** So many times as long as was asked for a report may last because of late samples. */
const LONGEST_TIMES = 2;

/** When metrics are taken, from the beginning of a report that lasts so long. */
export function sampleTimes(forMs: number): readonly number[] {
  const stepMs = Math.max(forMs / (SAMPLES - 1), SHORTEST_STEP_MS);
  const count = Math.min(SAMPLES, Math.ceil(forMs / stepMs) + 1);
  return Array.from({ length: count }, (_, at) => Math.min(at * stepMs, forMs));
}

interface SampleClock {
  nowMs(): number;
  pause(ms: number): Promise<void>;
}

/** Each sample, by its number, when its time has come. A late one is taken all the same, until twice the time has passed: then only the last one is. */
export async function* dueSamples(forMs: number, clock: SampleClock): AsyncGenerator<number, void> {
  const times = sampleTimes(forMs);
  const beganMs = clock.nowMs();
  for (const [count, atMs] of times.entries()) {
    const passedMs = clock.nowMs() - beganMs;
    const isBetween = count > 0 && count < times.length - 1;
    if (isBetween && passedMs > forMs * LONGEST_TIMES) continue;
    await clock.pause(Math.max(0, atMs - passedMs));
    yield count;
  }
}
