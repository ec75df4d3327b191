/** Gives up when nothing is heard for so long, or when the caller does. */
export class Patience {
  readonly signal: AbortSignal;
  readonly #silence = new AbortController();
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, caller: AbortSignal | undefined) {
    this.#ms = ms;
    this.signal =
      caller === undefined ? this.#silence.signal : AbortSignal.any([caller, this.#silence.signal]);
    this.heard();
  }

  heard(): void {
    clearTimeout(this.#timer);
    const giveUp = (): void => this.#silence.abort(new Error(`no answer within ${this.#ms / 1000} s`));
    this.#timer = setTimeout(giveUp, this.#ms);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
