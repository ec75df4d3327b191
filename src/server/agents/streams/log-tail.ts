/** The last bytes of a text that comes in pieces, from the start of a line. */
export class LogTail {
  readonly #limit: number;
  readonly #parts: Buffer[] = [];
  #held = 0;
  #before = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(part: Buffer): void {
    this.#parts.push(part);
    this.#held += part.length;
    for (let first = this.#parts[0]; first !== undefined; first = this.#parts[0]) {
      if (this.#held - first.length < this.#limit) return;
      this.#parts.shift();
      this.#held -= first.length;
      this.#before += first.length;
    }
  }

  /** Bytes that are not in `text`. */
  get dropped(): number {
    return this.#before + this.#cut().start;
  }

  text(): string {
    const { bytes, start } = this.#cut();
    return bytes.subarray(start).toString('utf8');
  }

  #cut(): { readonly bytes: Buffer; readonly start: number } {
    const bytes = Buffer.concat(this.#parts);
    const over = Math.max(0, bytes.length - this.#limit);
    if (over === 0 && this.#before === 0) return { bytes, start: 0 };
    // A line that is longer than all that is kept is cut where it must be.
    const line = bytes.indexOf('\n', Math.max(0, over - 1));
    return { bytes, start: line === -1 || line === bytes.length - 1 ? over : line + 1 };
  }
}
