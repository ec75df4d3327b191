import { setTimeout as pause } from 'node:timers/promises';

/** Of everything that comes from outside: searching it costs this process more than sending it costs the sender. */
const BYTES_PER_MS = (256 * 1024) / 1000;
const BURST_BYTES = 64 * 1024;
/** What a line costs beside its length. */
const LINE_BYTES = 64;

export interface ShareClock {
  nowMs(): number;
  /** Answers early when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

const realClock: ShareClock = {
  nowMs: () => performance.now(),
  wait: async (ms, signal) => {
    await pause(ms, undefined, { signal }).catch(() => undefined);
  },
};

/**
 * How much is searched for credentials in one process, whoever asks for it and however many read at once. Tenants take turns, and within one
 * its readers.
 */
export class SearchShare {
  readonly #clock: ShareClock;
  readonly #ofTenant = new Map<string, Promise<void>>();
  #last = Promise.resolve();
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: ShareClock = realClock) {
    this.#clock = clock;
  }

  /** Waits until a line of this length may be searched. Who leaves meanwhile has used nothing. */
  async take(tenantId: string, bytes: number, signal: AbortSignal): Promise<void> {
    const before = this.#ofTenant.get(tenantId) ?? Promise.resolve();
    const mine = before.then(() => {
      this.#last = this.#last.then(() => this.#room(bytes, signal));
      return this.#last;
    });
    this.#ofTenant.set(tenantId, mine);
    await mine;
    if (this.#ofTenant.get(tenantId) === mine) this.#ofTenant.delete(tenantId);
  }

  async #room(bytes: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const nowMs = this.#clock.nowMs();
    const costMs = (bytes + LINE_BYTES) / BYTES_PER_MS;
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs - BURST_BYTES / BYTES_PER_MS) + costMs;
    if (this.#freeAtMs <= nowMs) return;
    await this.#clock.wait(this.#freeAtMs - nowMs, signal);
    if (signal.aborted) this.#freeAtMs -= costMs;
  }
}
