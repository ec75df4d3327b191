import { basename, join } from 'node:path';
import { number } from '../engine/fields.ts';
import { KeptFields } from '../kept-fields.ts';
import type { Log } from '../log.ts';
import type { Diverged } from './volume-engine.ts';

/** Less than this is lost of its age when the agent ends. */
export const AGE_STEP_MS = 10 * 60_000;
const FILE = 'diverged.json';

/** Bytes that an earlier primary alone had, and for how long they have been kept. */
export interface KeptDivergence extends Diverged {
  readonly keptMs: number;
}

/**
 * How long divergences of one volume have been kept, beside its image. Only time that an agent ran counts, on the monotonic clock: a wall
 * clock that is set must not end the time of bytes that nobody else has.
 */
export class DivergenceAges {
  readonly #file: KeptFields;
  readonly #nowMs: () => number;
  readonly #ages = new Map<string, number>();
  #loading: Promise<void> | undefined;
  #lookedMs: number | undefined;
  #writtenMs = -Infinity;

  constructor(folder: string, log: Log, nowMs = () => performance.now()) {
    this.#file = new KeptFields(join(folder, FILE), 'how long divergences were kept', log);
    this.#nowMs = nowMs;
  }

  /** Of those that are here now; what is not named is forgotten. */
  async of(found: readonly Diverged[]): Promise<readonly KeptDivergence[]> {
    this.#loading ??= this.#load();
    await this.#loading;
    if (found.length === 0 && this.#ages.size === 0) return [];
    const nowMs = this.#nowMs();
    const passedMs = nowMs - (this.#lookedMs ?? nowMs);
    this.#lookedMs = nowMs;
    const names = new Set(found.map(({ path }) => basename(path)));
    const isOther = names.size !== this.#ages.size || [...names].some((name) => !this.#ages.has(name));
    for (const name of this.#ages.keys()) if (!names.has(name)) this.#ages.delete(name);
    for (const name of names) {
      const before = this.#ages.get(name);
      this.#ages.set(name, before === undefined ? 0 : before + passedMs);
    }
    const kept = found.map((one) => ({ ...one, keptMs: this.#ages.get(basename(one.path)) ?? 0 }));
    if (isOther || nowMs - this.#writtenMs >= AGE_STEP_MS) await this.#write(nowMs);
    return kept;
  }

  /** Damaged or of somebody else: kept from now on. */
  async #load(): Promise<void> {
    for (const [name, kept] of Object.entries(await this.#file.read())) {
      const keptMs = number(kept);
      if (keptMs !== undefined && keptMs >= 0) this.#ages.set(name, keptMs);
    }
  }

  async #write(nowMs: number): Promise<void> {
    this.#writtenMs = nowMs;
    await this.#file.write(Object.fromEntries(this.#ages));
  }
}
