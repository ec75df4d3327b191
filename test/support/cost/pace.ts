const RECORDS = 5000;
/** Of processor time, every second while two cores of 2.5 GHz are busy with other things. */
const USUAL_MS = 6.5;
/** Beyond that it is to be looked into, whatever the machine. */
const MOST = 2;

/**
 * How long this machine takes for the same computation at that moment, by which what is allowed in milliseconds is multiplied: a processor that is shared
 * with other machines has two thirds of its speed in some hours, without telling anybody, and so has whoever waits for what runs on it.
 */
export class Pace {
  readonly #text = JSON.stringify(
    Array.from({ length: RECORDS }, (_, at) => ({
      id: `ins_${at}`,
      phase: 'running',
      restarts: at,
      labels: { at: `${at}` },
    })),
  );
  readonly #tookMs: number[] = [];

  take(): void {
    const before = process.threadCpuUsage();
    JSON.stringify(JSON.parse(this.#text));
    const { user, system } = process.threadCpuUsage(before);
    this.#tookMs.push((user + system) / 1000);
  }

  /** Of half of the times; from one to two. */
  get slowness(): number {
    const sorted = this.#tookMs.toSorted((a, b) => a - b);
    const times = (sorted[sorted.length >> 1] ?? 0) / USUAL_MS;
    return Math.min(MOST, Math.max(1, Math.round(times * 100) / 100));
  }
}
