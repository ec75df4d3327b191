import { join } from 'node:path';
import { readIfThere, writeWhole } from '../whole-file.ts';
import { compareCopies, type CopyName, copyText, parseCopyName } from './volume-engine.ts';

/**
 * The newest name of a copy that is not here any more, beside the volume: on every node a name means one moment for ever. A primary that began anew under
 * the same epoch would give a replica old names for new bytes.
 */
export class GivenNames {
  readonly #file: string;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(folder: string) {
    this.#file = join(folder, 'given.json');
  }

  /** After all that are known. */
  async next(epoch: number, ...known: readonly (CopyName | undefined)[]): Promise<CopyName> {
    const before = [await this.#read(), ...known].flatMap((one) =>
      one?.epoch === epoch ? [one.sequence] : [],
    );
    return { epoch, sequence: Math.max(0, ...before) + 1 };
  }

  /** Before the copy goes. */
  keep(name: CopyName): Promise<void> {
    const kept = this.#writing.then(() => this.#keep(name));
    this.#writing = kept.catch(() => undefined);
    return kept;
  }

  async #keep(name: CopyName): Promise<void> {
    const kept = await this.#read();
    if (kept !== undefined && compareCopies(kept, name) >= 0) return;
    await writeWhole(this.#file, `${JSON.stringify(copyText(name))}\n`);
  }

  async #read(): Promise<CopyName | undefined> {
    const text = await readIfThere(this.#file);
    return text === undefined ? undefined : parseCopyName(String(JSON.parse(text)));
  }
}
