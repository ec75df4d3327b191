import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import { fields, list, nonEmpty, number } from '../engine/fields.ts';
import type { Log } from '../log.ts';
import { writeWhole } from '../whole-file.ts';

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
  readonly #path: string;
  readonly #log: Log;
  readonly #byReference = new Map<string, PulledImage>();
  #writing: Promise<void> = Promise.resolve();

  constructor(dataDir: string, log: Log) {
    this.#path = join(dataDir, 'images.json');
    this.#log = log;
  }

  async load(): Promise<void> {
    const text = await readFile(this.#path, 'utf8').catch(() => '{}');
    for (const one of list(parsed(text)['images'])) {
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
    this.#writing = this.#writing.then(() =>
      writeWhole(this.#path, `${JSON.stringify({ images: [...this.#byReference.values()] })}\n`).catch(
        (error: unknown) =>
          this.#log.warn('which images were pulled could not be saved', { reason: messageOf(error) }),
      ),
    );
    await this.#writing;
  }
}

/** Damaged: none of them is known to be ours. */
function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return fields(JSON.parse(text));
  } catch {
    return {};
  }
}
