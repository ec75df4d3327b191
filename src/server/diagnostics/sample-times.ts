/** Of metrics within the time that a report lasts, the first and the last included. */
const SAMPLES = 7;
const SHORTEST_STEP_MS = 1000;

/** When metrics are taken, from the beginning of a report that lasts so long: however late one of them is, each is taken. */
export function sampleTimes(forMs: number): readonly number[] {
  const stepMs = Math.max(forMs / (SAMPLES - 1), SHORTEST_STEP_MS);
  const count = Math.min(SAMPLES, Math.ceil(forMs / stepMs) + 1);
  return Array.from({ length: count }, (_, at) => Math.min(at * stepMs, forMs));
}
