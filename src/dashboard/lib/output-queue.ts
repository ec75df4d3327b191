/** More than this waiting to be drawn: nobody reads it, and the oldest goes. */
const MAX_WAITING_BYTES = 2 ** 20;

/**
 * Output on its way to the screen, a piece at a time. A browser cannot slow a WebSocket down, so a command that prints faster than
 * the screen draws loses its oldest output instead of filling the memory of the page; keys, Ctrl-C among them, stay prompt.
 */
export class OutputQueue {
  readonly #draw: (piece: Uint8Array | string, drawn: () => void) => void;
  readonly #waiting: Uint8Array[] = [];
  #bytes = 0;
  #skipped = 0;
  #isDrawing = false;

  constructor(draw: (piece: Uint8Array | string, drawn: () => void) => void) {
    this.#draw = draw;
  }

  add(piece: Uint8Array): void {
    this.#waiting.push(piece);
    this.#bytes += piece.length;
    while (this.#bytes > MAX_WAITING_BYTES && this.#waiting.length > 1) {
      const oldest = this.#waiting.shift()?.length ?? 0;
      this.#bytes -= oldest;
      this.#skipped += oldest;
    }
    this.#next();
  }

  #next(): void {
    if (this.#isDrawing) return;
    const piece = this.#skipped > 0 ? this.#notice() : this.#waiting.shift();
    if (piece === undefined) return;
    if (typeof piece !== 'string') this.#bytes -= piece.length;
    this.#isDrawing = true;
    this.#draw(piece, () => {
      this.#isDrawing = false;
      this.#next();
    });
  }

  /** A sequence may have been cut in two: colours begin anew. */
  #notice(): string {
    const text = `\u0018\u001b[0m\r\n[${this.#skipped.toLocaleString('en')} bytes were printed too fast to be shown]\r\n`;
    this.#skipped = 0;
    return text;
  }
}
