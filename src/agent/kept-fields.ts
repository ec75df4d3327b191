import { readFile } from 'node:fs/promises';
import { messageOf } from '../core/model/values.ts';
import { type Fields, fieldsIn } from './engine/fields.ts';
import type { Log } from './log.ts';
import { writeWhole } from './whole-file.ts';

/** A small JSON file of what an agent would rather not forget: it works on without it. Writes are made in the order they were asked for. */
export class KeptFields {
  readonly #path: string;
  readonly #what: string;
  readonly #log: Log;
  #writing: Promise<void> = Promise.resolve();

  /** @param what the subject of "… could not be saved" */
  constructor(path: string, what: string, log: Log) {
    this.#path = path;
    this.#what = what;
    this.#log = log;
  }

  /** Absent, damaged or of somebody else: empty. */
  async read(): Promise<Fields> {
    return fieldsIn(await readFile(this.#path, 'utf8').catch(() => '{}'));
  }

  async write(fields: Fields): Promise<void> {
    const text = `${JSON.stringify(fields)}\n`;
    this.#writing = this.#writing.then(() =>
      writeWhole(this.#path, text).catch((error: unknown) =>
        this.#log.warn(`${this.#what} could not be saved`, { reason: messageOf(error) }),
      ),
    );
    await this.#writing;
  }
}
