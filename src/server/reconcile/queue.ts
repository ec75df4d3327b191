import type { Timers } from './timers.ts';
import { TenantTurns } from './turns.ts';

export interface QueueOptions {
  /** Reconciles one key; a throw is a fault and is retried with back-off. */
  readonly work: (key: string) => Promise<void>;
  /** Called when the keys of one turn of the event loop have been begun, each up to its first pause. */
  readonly turned?: () => void;
  readonly onFault: (key: string, fault: unknown) => void;
  readonly timers: Timers;
  readonly concurrency?: number;
  /** As much is under way as may be: nothing begins before some of it has ended. Only while something is under way. */
  readonly isFull?: () => boolean;
  /** Reconciling it takes much memory, so few of these run at the same time. */
  readonly isHeavy?: (key: string) => boolean;
  /** Reconciling it takes many times as long as most: others do not wait behind a row of these. Asked when its turn comes. */
  readonly isLarge?: (key: string) => boolean;
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
}

interface Delayed {
  readonly dueMs: number;
  /** Of one key, or of this one among several. */
  readonly cancel: (key: string) => void;
}

/** Commits of that many keys share the store's disk writes. */
const CONCURRENCY = 64;
const HEAVY_CONCURRENCY = 2;
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 30_000;
/** From so long a wait on, keys that are due within `SHARED_WITHIN_MS` have one timer: each that is placed waits for its deadline, and a timer takes 500 bytes. */
const SHARED_FROM_MS = 60_000;
const SHARED_WITHIN_MS = 50;
/** Starts per turn of the event loop: work that needs no I/O must not keep requests from being served. */
const STARTS_PER_TURN = 64;
/** And no more after so long, for the same reason: a large one takes as long as a hundred others. */
const TURN_MS = 20;
/** Large ones that are passed over to find another one: the record of each is read. */
const SORTED_AT_ONCE = 512;
/** For so many others a large one has its turn. */
const OTHERS_PER_LARGE = 16;
/** Keys of a tenant that follow one another: what one turn of the event loop plans for a tenant shares a commit. */
const KEYS_PER_TENANT = 16;

/**
 * De-duplicating work queue of keys that begin with their tenant. A key is held once however often it is added, is never reconciled twice at the
 * same time, and is re-queued when it was added meanwhile. The queue is bounded by the number of keys, not by the number of changes. Tenants take
 * turns, and so do large keys and all others (decision 0129).
 */
export class KeyedQueue {
  readonly #options: QueueOptions;
  readonly #waiting = new TenantTurns(KEYS_PER_TENANT);
  /** Waiting keys that were found to be heavy or large when their turn came, kept apart so that another one is found without a search. */
  readonly #heavy = new TenantTurns();
  readonly #large = new TenantTurns();
  #othersSinceLarge = 0;
  readonly #working = new Set<string>();
  #heavyWorking = 0;
  readonly #again = new Set<string>();
  readonly #delayed = new Map<string, Delayed>();
  /** Those of them that several keys may have, by the time. */
  readonly #shared = new Map<number, Delayed & { readonly keys: Set<string> }>();
  readonly #failures = new Map<string, number>();
  readonly #idle: (() => void)[] = [];
  readonly #now: () => number;
  #pumping = false;
  #stopped = false;

  constructor(options: QueueOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  get depth(): number {
    return this.#waitingCount + this.#working.size;
  }

  get #waitingCount(): number {
    return this.#waiting.size + this.#large.size + this.#heavy.size;
  }

  add(key: string): void {
    if (this.#stopped) return;
    this.#undelay(key);
    if (this.#working.has(key)) this.#again.add(key);
    else if (!this.#large.has(key)) this.#waiting.add(key);
    this.#schedule();
  }

  /** The earlier of two times wins. */
  addAfter(key: string, ms: number): void {
    if (this.#stopped || this.#isWaiting(key) || this.#again.has(key)) return;
    const nowMs = this.#now();
    const isShared = ms >= SHARED_FROM_MS;
    const dueMs = isShared ? Math.ceil((nowMs + ms) / SHARED_WITHIN_MS) * SHARED_WITHIN_MS : nowMs + ms;
    const known = this.#delayed.get(key);
    if (known !== undefined && known.dueMs <= dueMs) return;
    known?.cancel(key);
    if (isShared) {
      const shared = this.#shared.get(dueMs) ?? this.#share(dueMs, dueMs - nowMs);
      shared.keys.add(key);
      this.#delayed.set(key, shared);
      return;
    }
    const cancel = this.#options.timers.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, cancel });
  }

  #isWaiting(key: string): boolean {
    return this.#waiting.has(key) || this.#large.has(key) || this.#heavy.has(key);
  }

  #share(dueMs: number, ms: number): Delayed & { readonly keys: Set<string> } {
    const keys = new Set<string>();
    const stop = this.#options.timers.after(ms, () => {
      this.#shared.delete(dueMs);
      for (const key of keys) {
        this.#delayed.delete(key);
        this.add(key);
      }
    });
    const cancel = (key: string): void => {
      keys.delete(key);
      if (keys.size > 0) return;
      this.#shared.delete(dueMs);
      stop();
    };
    const shared = { dueMs, keys, cancel };
    this.#shared.set(dueMs, shared);
    return shared;
  }

  #undelay(key: string): void {
    const delayed = this.#delayed.get(key);
    if (delayed === undefined) return;
    this.#delayed.delete(key);
    delayed.cancel(key);
  }

  /** Drops waiting keys and resolves when running ones have ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const [key, { cancel }] of this.#delayed) cancel(key);
    this.#delayed.clear();
    this.#waiting.clear();
    this.#large.clear();
    this.#heavy.clear();
    this.#again.clear();
    await this.idle();
  }

  /** Resolves when nothing is waiting (delayed keys apart) and nothing is running. */
  async idle(): Promise<void> {
    if (this.depth === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #schedule(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    setImmediate(() => this.#pump());
  }

  #pump(): void {
    this.#pumping = false;
    const limit = this.#options.concurrency ?? CONCURRENCY;
    this.#startHeavy(limit);
    this.#startOthers(limit);
    this.#options.turned?.();
  }

  #startHeavy(limit: number): void {
    while (this.#heavy.size > 0 && this.#heavyWorking < HEAVY_CONCURRENCY && !this.#isFull(limit)) {
      const key = this.#heavy.take();
      if (key === undefined) return;
      // Added again meanwhile: once is enough.
      this.#waiting.delete(key);
      this.#working.add(key);
      this.#heavyWorking += 1;
      void this.#run(key).finally(() => {
        this.#heavyWorking -= 1;
        if (this.#heavy.size > 0) this.#schedule();
      });
    }
  }

  #startOthers(limit: number): void {
    const untilMs = this.#now() + TURN_MS;
    for (let started = 0; this.#waiting.size + this.#large.size > 0; ) {
      if (this.#isFull(limit)) return;
      if (started === STARTS_PER_TURN || this.#now() > untilMs) {
        this.#schedule();
        return;
      }
      const key = this.#next(limit, untilMs);
      if (key === undefined) continue;
      started += 1;
      this.#working.add(key);
      void this.#run(key);
    }
  }

  /** Undefined: one that is heavy was found first, or nothing is left. */
  #next(limit: number, untilMs: number): string | undefined {
    const isLargeDue = this.#othersSinceLarge >= OTHERS_PER_LARGE && this.#large.size > 0;
    for (let sorted = 0; !isLargeDue && sorted < SORTED_AT_ONCE; sorted += 1) {
      const key = this.#waiting.take();
      if (key === undefined) break;
      if (this.#isPutAside(key, limit)) return undefined;
      if (!this.#isLarge(key)) {
        this.#othersSinceLarge += 1;
        return key;
      }
      this.#large.add(key);
      if (this.#now() > untilMs) break;
    }
    this.#othersSinceLarge = 0;
    const key = this.#large.take();
    // It may have become so while it waited.
    return key === undefined || this.#isPutAside(key, limit) ? undefined : key;
  }

  #isPutAside(key: string, limit: number): boolean {
    if (this.#options.isHeavy?.(key) === true) {
      this.#heavy.add(key);
      this.#startHeavy(limit);
      return true;
    }
    this.#heavy.delete(key);
    return false;
  }

  #isLarge(key: string): boolean {
    try {
      return this.#options.isLarge?.(key) === true;
    } catch {
      // A record that cannot be read: its own work finds that, and is retried.
      return false;
    }
  }

  #isFull(limit: number): boolean {
    const { size } = this.#working;
    return size >= limit || (size > 0 && this.#options.isFull?.() === true);
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#options.work(key);
      this.#failures.delete(key);
    } catch (fault) {
      this.#options.onFault(key, fault);
      this.#retry(key);
    }
    this.#working.delete(key);
    if (this.#again.delete(key)) this.#waiting.add(key);
    if (this.#waitingCount > 0) this.#schedule();
    if (this.depth === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #retry(key: string): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const { firstRetryMs = FIRST_RETRY_MS, maxRetryMs = MAX_RETRY_MS } = this.#options;
    // A change that came meanwhile must not turn a failing key into a busy loop.
    this.#again.delete(key);
    this.addAfter(key, Math.min(maxRetryMs, firstRetryMs * 2 ** (failures - 1)));
  }
}
