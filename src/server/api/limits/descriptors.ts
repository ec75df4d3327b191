import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';

const MEASURE_MS = 5000;
/** A process with few descriptors keeps most of them for requests. */
const LARGEST_PART_RESERVED = 4;

/** The second column, of files: what is enforced. Undefined where there is no such file. */
function limitOfProcess(): number | undefined {
  try {
    const line = readFileSync('/proc/self/limits', 'utf8')
      .split('\n')
      .find((one) => one.startsWith('Max open files'));
    const limit = Number(line?.slice('Max open files'.length).trim().split(' ', 1)[0]);
    return Number.isInteger(limit) ? limit : undefined;
  } catch {
    return undefined;
  }
}

/** Descriptors of this process: how many there may be, and how many are not connections of clients. */
export class Descriptors {
  readonly limit: number;
  readonly reserved: number;
  readonly #connections: () => number;
  readonly #timer: NodeJS.Timeout | undefined;
  #others = 0;

  constructor(reserved: number, connections: () => number, limit = limitOfProcess()) {
    this.limit = limit ?? Number.POSITIVE_INFINITY;
    this.reserved = Math.min(reserved, Math.floor(this.limit / LARGEST_PART_RESERVED));
    this.#connections = connections;
    if (limit === undefined) return;
    void this.#measure();
    this.#timer = setInterval(() => void this.#measure(), MEASURE_MS).unref();
  }

  get used(): number {
    return this.#others + this.#connections();
  }

  /** What is left is for health, agents and the store. */
  get scarce(): boolean {
    return this.used > this.limit - this.reserved;
  }

  /** For requests of anybody, with what was used by other things when it was measured last. */
  get forRequests(): number {
    return Math.max(0, this.limit - this.reserved - this.#others);
  }

  async #measure(): Promise<void> {
    const open = await readdir('/proc/self/fd').catch(() => []);
    this.#others = Math.max(0, open.length - this.#connections());
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
