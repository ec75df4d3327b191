import type { InstanceUsage } from '../../core/protocol/agent-protocol.ts';
import type { Engine, StatsSample } from '../engine/engine.ts';
import { Gate } from './gate.ts';
import type { ObservedContainer } from './observed-container.ts';

const INTERVAL_MS = 15_000;
const MIN_INTERVAL_MS = 100;
const AT_ONCE = 2;
const SAMPLE_DEADLINE_MS = 5_000;
/** A round over more containers than this is spread over several. */
const MAX_PER_ROUND = 250;

/** Share of a core in per cent between two samples. */
export function cpuPercent(before: StatsSample, now: StatsSample): number {
  const elapsedNs = (now.atMs - before.atMs) * 1e6;
  if (elapsedNs <= 0 || now.cpuNs < before.cpuNs) return 0;
  return Math.round((10_000 * (now.cpuNs - before.cpuNs)) / elapsedNs) / 100;
}

/** Bytes per second between two samples; nothing: one of them has no counters, or they began anew. */
function traffic(before: StatsSample, now: StatsSample): Partial<InstanceUsage> {
  const seconds = (now.atMs - before.atMs) / 1000;
  if (before.network === undefined || now.network === undefined || seconds <= 0) return {};
  const received = now.network.receivedBytes - before.network.receivedBytes;
  const sent = now.network.sentBytes - before.network.sentBytes;
  if (received < 0 || sent < 0) return {};
  return {
    receivedBytesPerSecond: Math.round(received / seconds),
    sentBytesPerSecond: Math.round(sent / seconds),
  };
}

/** Measures running containers, by default every 15 s, a few at a time, and never two rounds at once. */
export class UsageMeter {
  readonly #engine: Engine;
  readonly #running: () => readonly ObservedContainer[];
  readonly #onMeasured: (usage: readonly InstanceUsage[]) => void;
  readonly #gate = new Gate(AT_ONCE);
  #before = new Map<string, StatsSample>();
  #offset = 0;
  #intervalMs = INTERVAL_MS;
  /** Restarts the wait for the next round; undefined during a round. */
  #wait: (() => void) | undefined;

  constructor(
    engine: Engine,
    running: () => readonly ObservedContainer[],
    onMeasured: (usage: readonly InstanceUsage[]) => void,
  ) {
    this.#engine = engine;
    this.#running = running;
    this.#onMeasured = onMeasured;
  }

  /** As the control plane asks for; undefined: the default. */
  every(ms: number | undefined): void {
    const next = ms === undefined ? INTERVAL_MS : Math.max(MIN_INTERVAL_MS, ms);
    if (next === this.#intervalMs) return;
    this.#intervalMs = next;
    this.#wait?.();
  }

  run(signal: AbortSignal): void {
    let timer: NodeJS.Timeout | undefined;
    const wait = (): void => {
      clearTimeout(timer);
      if (signal.aborted) return;
      this.#wait = wait;
      timer = setTimeout(() => {
        this.#wait = undefined;
        void this.#round().finally(wait);
      }, this.#intervalMs);
    };
    signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    wait();
  }

  async #round(): Promise<void> {
    const all = this.#running();
    const start = this.#offset < all.length ? this.#offset : 0;
    const due = all.slice(start, start + MAX_PER_ROUND);
    this.#offset = start + MAX_PER_ROUND;
    const measured = await Promise.all(due.map((one) => this.#gate.pass(() => this.#measure(one))));
    const there = new Set(all.map(({ id }) => id));
    this.#before = new Map([...this.#before].filter(([id]) => there.has(id)));
    this.#onMeasured(measured.flatMap((one) => one ?? []));
  }

  async #measure({ id, instanceId }: ObservedContainer): Promise<InstanceUsage | undefined> {
    try {
      const now = await this.#engine.statsOnce(id, { deadlineMs: SAMPLE_DEADLINE_MS });
      const before = this.#before.get(id);
      this.#before.set(id, now);
      // Started anew meanwhile: what it took in between is not known, which is not nothing.
      if (before === undefined || now.cpuNs < before.cpuNs) return undefined;
      return {
        instanceId,
        cpuPercent: cpuPercent(before, now),
        memoryBytes: now.memoryBytes,
        ...traffic(before, now),
      };
    } catch {
      // It ended meanwhile, or the engine is away, which the observer reports.
      return undefined;
    }
  }
}
