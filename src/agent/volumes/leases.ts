import { type LeaseEntry, machineMs, readLeases, writeLeases } from './lease-file.ts';

const KEPT_BEATS = 100;

/**
 * How long this node may write. A lease counts from when the answered report was sent: the control plane had not received it
 * before, so it cannot think that the lease ends earlier. What is held is in the watchdog's file before anything is written.
 */
export class Leases {
  readonly #dataDir: string;
  readonly #sentMs = new Map<number, number>();
  readonly #deadlines = new Map<string, number>();
  readonly #held = new Map<string, Omit<LeaseEntry, 'deadlineMs'>>();
  #writing: Promise<void> = Promise.resolve();
  #recalled: Promise<void> | undefined;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  /** At the start. What cannot be read is told by each volume that needs it, and tried again with it. */
  async load(): Promise<void> {
    await this.recall().catch(() => {});
  }

  /**
   * What the agent before this one held. Fails where that is not known: whoever still writes here would not be ended, and the next entry would
   * take the others from the watchdog's file.
   */
  async recall(): Promise<void> {
    this.#recalled ??= this.#read().catch((error: unknown) => {
      this.#recalled = undefined;
      throw error;
    });
    await this.#recalled;
  }

  async #read(): Promise<void> {
    for (const { deadlineMs, ...entry } of await readLeases(this.#dataDir)) {
      // It may have been extended already.
      const known = this.#deadlines.get(entry.volumeId) ?? -Infinity;
      this.#deadlines.set(entry.volumeId, Math.max(known, deadlineMs));
      this.#held.set(entry.volumeId, entry);
    }
  }

  /** Heartbeats restart at zero in each session. */
  begin(): void {
    this.#sentMs.clear();
  }

  sent(beat: number): void {
    this.#sentMs.set(beat, machineMs());
    for (const old of this.#sentMs.keys()) {
      if (this.#sentMs.size <= KEPT_BEATS) break;
      this.#sentMs.delete(old);
    }
  }

  /** Longer only: an answer that comes late takes nothing away. */
  async extend(
    beat: number,
    leases: readonly { readonly id: string; readonly leaseMs: number }[],
  ): Promise<void> {
    const sentMs = this.#sentMs.get(beat);
    if (sentMs !== undefined) await this.extendSince(sentMs, leases);
  }

  /** The same for one that was asked for at that time. */
  async extendSince(
    sentMs: number,
    leases: readonly { readonly id: string; readonly leaseMs: number }[],
  ): Promise<void> {
    for (const { id, leaseMs } of leases) {
      this.#deadlines.set(id, Math.max(this.#deadlines.get(id) ?? -Infinity, sentMs + leaseMs));
    }
    if (this.#held.size > 0) await this.#write();
  }

  /** Undefined: there never was one. */
  deadlineMs(volumeId: string): number | undefined {
    return this.#deadlines.get(volumeId);
  }

  isValid(volumeId: string): boolean {
    return (this.#deadlines.get(volumeId) ?? -Infinity) > machineMs();
  }

  held(volumeId: string): Omit<LeaseEntry, 'deadlineMs'> | undefined {
    return this.#held.get(volumeId);
  }

  get holdsAny(): boolean {
    return this.#held.size > 0;
  }

  async hold(entry: Omit<LeaseEntry, 'deadlineMs'>): Promise<void> {
    this.#held.set(entry.volumeId, entry);
    await this.#write();
  }

  /** Its writers are gone and its mount too, or it is no longer this node's to write. */
  async release(volumeId: string): Promise<void> {
    this.#deadlines.delete(volumeId);
    if (this.#held.delete(volumeId)) await this.#write();
  }

  async #write(): Promise<void> {
    // One after the other, each with what is true when its turn comes.
    this.#writing = this.#writing
      .catch(() => {})
      .then(async () => {
        const entries = [...this.#held.values()].map((entry) => ({
          ...entry,
          deadlineMs: this.#deadlines.get(entry.volumeId) ?? 0,
        }));
        await writeLeases(this.#dataDir, entries);
      });
    await this.#writing;
  }
}
