import { setImmediate as turn } from 'node:timers/promises';
import { PIECE_LENGTH, type Scrubbed, Scrubber } from '../../core/rules/credentials/scrub.ts';

/** After so much others have their turn. */
const TURN_BYTES = 16 * 1024;
/** What a text costs beside its length. */
const TEXT_BYTES = 64;

/** Searching takes the thread that serves everybody: it is given back after some milliseconds, within a text and between texts. */
export class PacedScrubber {
  readonly #scrubber: Scrubber;
  #looked = 0;

  constructor(values: Iterable<string>) {
    this.#scrubber = new Scrubber(values);
  }

  async learn(values: Iterable<string>): Promise<void> {
    for (const value of values) {
      this.#scrubber.learn(value);
      await this.#pause(value.length);
    }
  }

  async scrub(text: string): Promise<Scrubbed> {
    const steps = this.#scrubber.steps(text);
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      await this.#pause(Math.min(text.length, PIECE_LENGTH));
    }
  }

  async #pause(bytes: number): Promise<void> {
    this.#looked += bytes + TEXT_BYTES;
    if (this.#looked < TURN_BYTES) return;
    this.#looked = 0;
    await turn();
  }
}
