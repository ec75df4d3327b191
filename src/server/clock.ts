import { performance } from 'node:perf_hooks';

/** Wall time is for people and for token expiry; every decision about silence or progress uses the monotonic clock. */
export interface Clock {
  now(): Date;
  monotonicMs(): number;
  /** Of `now`, without an object for it; absent: that is asked. */
  readonly wallMs?: () => number;
  /** The same without pauses of this process; absent: as `monotonicMs`. */
  readonly runningMs?: () => number;
}

/** What every id and every record is told: a date costs twice as much as its milliseconds. */
export function wallMs(clock: Pick<Clock, 'now' | 'wallMs'>): number {
  return clock.wallMs?.() ?? clock.now().getTime();
}

/** What is waited for in steps of the progress of others, who could not be heard in a pause of this process. */
export function progressMs(clock: Clock): number {
  return clock.runningMs?.() ?? clock.monotonicMs();
}

let lastMs = Number.NaN;
let lastText = '';

/** What is stored of one change is of the same moment most of the time, and writing a time out costs more than reading the clock. */
export function timeText(clock: Pick<Clock, 'now' | 'wallMs'>): string {
  const ms = wallMs(clock);
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = new Date(ms).toISOString();
  }
  return lastText;
}

export const systemClock: Clock = {
  now: () => new Date(),
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  runningMs: () => runningMs(),
};

const LOOK_EVERY_MS = 1000;
/** A thread that comes to its timers this late did not run: the process was stopped or suspended, or had no processor. */
const PAUSE_MS = 2 * LOOK_EVERY_MS;

/**
 * The monotonic clock without pauses of this process: whoever waits for others by it does not hold against them the time in which an answer could not even
 * have been taken. It goes on during each pause for as long as between two looks, so that many of them do not stop it.
 */
export class RunningTime {
  readonly #monotonicMs: () => number;
  #lastMs: number;
  #pausedMs = 0;

  constructor(monotonicMs = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
    this.#lastMs = monotonicMs();
  }

  /** Has to be asked at least every second. */
  get ms(): number {
    const nowMs = this.#monotonicMs();
    const gapMs = nowMs - this.#lastMs;
    if (gapMs > PAUSE_MS) this.#pausedMs += gapMs - LOOK_EVERY_MS;
    this.#lastMs = nowMs;
    return nowMs - this.#pausedMs;
  }
}

let ofThisThread: RunningTime | undefined;

/** Of this thread. */
export function runningMs(): number {
  if (ofThisThread === undefined) {
    const time = (ofThisThread = new RunningTime());
    setInterval(() => time.ms, LOOK_EVERY_MS).unref();
  }
  return ofThisThread.ms;
}

/** As `setTimeout`, by running time. */
export class RunningTimeout {
  readonly #run: () => void;
  readonly #endMs: number;
  #timer: NodeJS.Timeout;
  #over: NodeJS.Immediate | undefined;

  constructor(run: () => void, ms: number) {
    this.#run = run;
    this.#endMs = runningMs() + ms;
    this.#timer = setTimeout(() => this.#fire(), ms);
  }

  clear(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#over);
  }

  #fire(): void {
    const leftMs = this.#endMs - runningMs();
    // A timer may fire a millisecond early. What has arrived by then is read before it is over.
    if (leftMs <= 1) this.#over = setImmediate(this.#run);
    else this.#timer = setTimeout(() => this.#fire(), leftMs);
  }
}
