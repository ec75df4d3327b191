import { join } from 'node:path';
import { fields, list, nonEmpty, number } from '../engine/fields.ts';
import { KeptFields } from '../kept-fields.ts';
import type { Log } from '../log.ts';

/** A use that is no newer is not worth a write. */
const USED_STEP_MS = 60 * 60_000;

export interface PulledImage {
  readonly reference: string;
  /** What the reference was when it was pulled. */
  readonly id: string;
  /** When it was last seen in use, on the machine's clock. */
  readonly usedMs: number;
}

/**
 * Images that this agent pulled and that were not on the machine before: no other is ever removed. On disk, so that it outlives the agent;
 * what a killed agent pulled and did not write down stays on the machine.
 */
export class PulledImages {
  readonly #file: KeptFields;
  readonly #byReference = new Map<string, PulledImage>();

  constructor(dataDir: string, log: Log) {
    this.#file = new KeptFields(join(dataDir, 'images.json'), 'which images were pulled', log);
  }

  /** Damaged: none of them is known to be ours. */
  async load(): Promise<void> {
    for (const one of list((await this.#file.read())['images'])) {
      const stored = fields(one);
      const [reference, id] = [nonEmpty(stored['reference']), nonEmpty(stored['id'])];
      if (reference === undefined || id === undefined) continue;
      this.#byReference.set(reference, { reference, id, usedMs: number(stored['usedMs']) ?? 0 });
    }
  }

  get all(): ReadonlyMap<string, PulledImage> {
    return this.#byReference;
  }

  async pulled(reference: string, id: string, nowMs = Date.now()): Promise<void> {
    this.#byReference.set(reference, { reference, id, usedMs: nowMs });
    await this.#write();
  }

  async used(references: readonly string[], nowMs = Date.now()): Promise<void> {
    let changed = false;
    for (const reference of references) {
      const known = this.#byReference.get(reference);
      // A clock that was set back must not make it look unused for long.
      if (known === undefined || Math.abs(nowMs - known.usedMs) < USED_STEP_MS) continue;
      this.#byReference.set(reference, { ...known, usedMs: nowMs });
      changed = true;
    }
    if (changed) await this.#write();
  }

  async forget(references: readonly string[]): Promise<void> {
    const gone = references.filter((reference) => this.#byReference.delete(reference));
    if (gone.length > 0) await this.#write();
  }

  async #write(): Promise<void> {
    await this.#file.write({ images: [...this.#byReference.values()] });
  }
}
