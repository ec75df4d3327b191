/** Level, beginning and end of a line. */
const FIELDS = 3;

export interface KeptLinesBounds {
  readonly lines: number;
  readonly bytes: number;
}

/**
 * The newest lines of a log, as bytes in one piece of memory that is used again. As strings, each joined from a dozen parts that live for a
 * second, they would be what a busy program's collector copies most.
 */
export class KeptLines {
  readonly #encoder = new TextEncoder();
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #most: number;
  readonly #bytes: Uint8Array;
  readonly #places: Uint32Array;
  /** Lines are numbered; what is kept is from `#first` to before `#next`. */
  #first = 0;
  #next = 0;
  #end = 0;

  constructor({ lines, bytes }: KeptLinesBounds) {
    this.#most = lines;
    // Untouched memory takes none of the machine's.
    this.#bytes = new Uint8Array(bytes);
    this.#places = new Uint32Array(lines * FIELDS);
  }

  /** A line that does not fit by itself leaves nothing behind, as many short ones would. */
  add(level: number, line: string): void {
    if (this.#next - this.#first === this.#most) this.#first += 1;
    if (!this.#write(level, line) && !this.#write(level, line)) this.#first = this.#next;
  }

  /** False: not all of it fitted in before the end of the memory, where nothing is kept then. */
  #write(level: number, line: string): boolean {
    const from = this.#end;
    const { read, written } = this.#encoder.encodeInto(line, this.#bytes.subarray(from));
    // An empty one has a place too, or it would have that of the next.
    const to = from + Math.max(1, written);
    if (read < line.length || to > this.#bytes.length) {
      this.#forgetWithin(from, this.#bytes.length);
      this.#end = 0;
      return false;
    }
    this.#forgetWithin(from, to);
    this.#places.set([level, from, from + written], (this.#next % this.#most) * FIELDS);
    this.#end = to;
    this.#next += 1;
    return true;
  }

  /** The oldest are the next ones in the memory. */
  #forgetWithin(from: number, to: number): void {
    while (this.#first < this.#next) {
      const begin = this.#places[(this.#first % this.#most) * FIELDS + 1] ?? 0;
      if (begin < from || begin >= to) return;
      this.#first += 1;
    }
  }

  /** The newest of this level or above, oldest first. */
  tail(most: number, least: number): readonly string[] {
    const lines: string[] = [];
    for (let number = this.#next - 1; number >= this.#first && lines.length < most; number -= 1) {
      const at = (number % this.#most) * FIELDS;
      if ((this.#places[at] ?? 0) >= least)
        lines.push(this.#decoder.decode(this.#bytes.subarray(this.#places[at + 1], this.#places[at + 2])));
    }
    return lines.reverse();
  }
}
