import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const TICK_MS = 10;
const EVERY_MS = 200;
/** What waited before still waits a while after. */
const BEFORE_MS = 3000;
/** Of the processors that this machine believes to have. */
const MOST = 0.05;

/** Milliseconds in which a processor had something to do and the host ran another machine on it, of all processors together. */
function stolenMs(): number {
  const [, , , , , , , , stolen = '0'] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/) ?? [];
  return Number(stolen) * TICK_MS;
}

interface Reading {
  readonly atMs: number;
  readonly stolenMs: number;
}

/** How much of a machine there was, that shares its processors with others. How long somebody waits says nothing of a program that was not run. */
export class StolenTime {
  readonly #read: () => number;
  readonly #readings: Reading[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(read = stolenMs) {
    this.#read = read;
    this.#look(performance.now());
    this.#timer = setInterval(() => this.#look(performance.now()), EVERY_MS);
  }

  #look(atMs: number): Reading {
    const reading = { atMs, stolenMs: this.#read() };
    this.#readings.push(reading);
    return reading;
  }

  /** Whether more was taken than hardly anything, from three seconds before `fromMs` until now. */
  since(fromMs: number, nowMs = performance.now()): boolean {
    const last = this.#look(nowMs);
    const first =
      this.#readings.findLast(({ atMs }) => atMs <= fromMs - BEFORE_MS) ?? this.#readings[0] ?? last;
    const wholeMs = (last.atMs - first.atMs) * availableParallelism();
    return last.stolenMs - first.stolenMs > MOST * wholeMs;
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
