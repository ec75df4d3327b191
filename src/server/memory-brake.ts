import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** `tight`: tenants that hold most may not add; `full`: none may. */
export type Pressure = 'none' | 'tight' | 'full';

export interface Heap {
  usedBytes(): number;
  limitBytes(): number;
  /** Called after every collection of the whole heap. */
  onCollected(listener: () => void): void;
  /** Asks for one. */
  collect(): void;
}

/** Records that are held as their text, and take more of the heap once somebody reads them. */
export interface HeldTexts {
  readonly textBytes: number;
  /** Reads all of them, by and by. */
  readTexts(): Promise<void>;
}

/** Below the share at which no tenant may add: where it gets tight, and how far it has to fall for each to end. */
const TIGHT_BELOW = 0.1;
const ENDS_BELOW = 0.05;
/** What a record takes in the heap, in bytes of its text: twice for deployments, and parsed. */
const HEAP_PER_BYTE = 8;
/** Of the heap, with texts counted as read: from here on they are, so that what they take is known. */
const READ_FROM = 0.5;
/** What is not worth it. */
const READ_ABOVE = 0.01;
/** Without a collection it is unknown what deletions freed; one of a large heap takes a second, though. */
const COLLECT_EVERY_MS = 10_000;

/**
 * Whether there is memory for more. What lives in the heap is known after each collection; until the next one what was written since is
 * added by estimate. What the heap uses now, garbage included, is never less than what lives in it. What is held as text takes more once it is
 * read, which a list or a restart does with all of it: it is counted as read.
 */
export class MemoryBrake {
  readonly #heap: Heap;
  readonly #nowMs: () => number;
  readonly #fullAt: number;
  #live = Number.POSITIVE_INFINITY;
  #addedBytes = 0;
  #pressure: Pressure = 'none';
  #collectedAtMs = Number.NEGATIVE_INFINITY;
  #texts: HeldTexts | undefined;
  readonly #measured: (() => void)[] = [];

  constructor(heap: Heap, share: number, nowMs: () => number = () => performance.now()) {
    this.#heap = heap;
    this.#fullAt = share;
    this.#nowMs = nowMs;
    heap.onCollected(() => {
      this.#live = heap.usedBytes() + this.#unreadBytes();
      this.#addedBytes = 0;
      for (const measured of this.#measured.splice(0)) measured();
    });
  }

  /** What these may come to is counted as if it were there. */
  follow(texts: HeldTexts): void {
    this.#texts = texts;
  }

  /** Bytes of text that are now held in memory. */
  added(bytes: number): void {
    this.#addedBytes += Math.max(0, bytes);
    // Asking the heap takes long, and is needed only until it was collected once.
    const filled = this.#live === Number.POSITIVE_INFINITY ? this.share : this.#estimate();
    if (filled >= READ_FROM) void this.#read();
  }

  #read(): Promise<void> | undefined {
    return this.#unreadBytes() > READ_ABOVE * this.#heap.limitBytes() ? this.#texts?.readTexts() : undefined;
  }

  #unreadBytes(): number {
    return (this.#texts?.textBytes ?? 0) * HEAP_PER_BYTE;
  }

  /** Until it is known what lives in the heap. */
  measured(): Promise<void> {
    return new Promise((resolve) => {
      this.#measured.push(resolve);
      this.#heap.collect();
    });
  }

  get limitBytes(): number {
    return this.#heap.limitBytes();
  }

  /** An upper bound of what lives in the heap, as a share of its limit. */
  get share(): number {
    const used = this.#heap.usedBytes() + this.#unreadBytes();
    return Math.min(used / this.#heap.limitBytes(), this.#estimate());
  }

  #estimate(): number {
    return (this.#live + this.#addedBytes * HEAP_PER_BYTE) / this.#heap.limitBytes();
  }

  pressure(): Pressure {
    const was = this.#pressure;
    const tightAt = this.#fullAt - TIGHT_BELOW;
    // The share is no more than that, and asking the heap takes as long as several rules.
    if (was === 'none' && this.#estimate() < tightAt) return was;
    const { share } = this;
    if (share >= this.#fullAt - (was === 'full' ? ENDS_BELOW : 0)) this.#pressure = 'full';
    else if (share >= tightAt - (was === 'none' ? 0 : ENDS_BELOW)) this.#pressure = 'tight';
    else this.#pressure = 'none';
    if (this.#pressure !== 'none') this.#measure();
    return this.#pressure;
  }

  /** Not more often than now and then: under pressure the heap is large. What texts really take is known once they are read. */
  #measure(): void {
    const reading = this.#read();
    const now = this.#nowMs();
    if (now - this.#collectedAtMs < COLLECT_EVERY_MS) return;
    this.#collectedAtMs = now;
    if (reading === undefined) this.#heap.collect();
    else void reading.then(() => this.#heap.collect());
  }
}

interface GcEntry {
  readonly detail?: { readonly kind?: number };
}

const MAJOR: ReadonlySet<number> = new Set([constants.NODE_PERFORMANCE_GC_MAJOR]);

const SEMI_SPACE = /^--max[-_]semi[-_]space[-_]size=(\d+)$/;
/** Of V8 14, which comes with Node 26, and of those before it. */
const USUAL_SEMI_SPACE = Number.parseInt(process.versions.v8) >= 14 ? 32 : 64;

/**
 * What V8 adds for the young generation to the limit that it reports: three spaces of MiB that are a power of two. Long-lived data does not
 * fit there.
 */
export function youngBytes(flags: readonly string[]): number {
  const given = flags.map((flag) => SEMI_SPACE.exec(flag)?.[1]).findLast((size) => size !== undefined);
  const mebibytes = Math.max(1, Number(given ?? USUAL_SEMI_SPACE));
  return 3 * 2 ** (Math.ceil(Math.log2(mebibytes)) + 20);
}

/** What records can take: measured against the whole, a small heap would be full before the brake looked up. */
function oldSpaceBytes(): number {
  const { heap_size_limit: limit } = getHeapStatistics();
  // Those of the command line come last, and win.
  const flags = [...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/), ...process.execArgv];
  return Math.max(limit / 4, limit - youngBytes(flags));
}

/** The heap of this process. */
export function processHeap(): Heap & { close(): void } {
  const listeners = new Set<() => void>();
  const observer = new PerformanceObserver((list) => {
    const isWhole = list.getEntries().some((entry) => MAJOR.has((entry as GcEntry).detail?.kind ?? 0));
    if (isWhole) for (const listener of listeners) listener();
  });
  observer.observe({ entryTypes: ['gc'] });
  const limitBytes = oldSpaceBytes();
  return {
    usedBytes: () => getHeapStatistics().used_heap_size,
    limitBytes: () => limitBytes,
    onCollected: (listener) => void listeners.add(listener),
    collect: () => void collectGarbage(),
    close: () => observer.disconnect(),
  };
}

/** Through the inspector, which needs no flag at the start; loaded when it is first needed. */
async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
