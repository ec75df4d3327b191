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
  readonly #most: number;
  readonly #bytes: Buffer;
  readonly #places: Uint32Array;
  /** Lines are numbered; what is kept is from `#first` to before `#next`. */
  #first = 0;
  #next = 0;
  #end = 0;

  constructor({ lines, bytes }: KeptLinesBounds) {
    this.#most = lines;
    // Untouched memory takes none of the machine's.
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
    this.#places = new Uint32Array(lines * FIELDS);
  }

  /** A line that does not fit by itself leaves nothing behind, as many short ones would. */
  add(level: number, line: string): void {
    const bytes = Buffer.byteLength(line);
    // An empty one has a place too, or it would have that of the next.
    const room = Math.max(1, bytes);
    if (room > this.#bytes.length) {
      this.#first = this.#next;
      return;
    }
    if (this.#next - this.#first === this.#most) this.#first += 1;
    if (this.#end + room > this.#bytes.length) {
      this.#forgetWithin(this.#end, this.#bytes.length);
      this.#end = 0;
    }
    this.#forgetWithin(this.#end, this.#end + room);
    const at = (this.#next % this.#most) * FIELDS;
    this.#bytes.write(line, this.#end, bytes, 'utf8');
    this.#places[at] = level;
    this.#places[at + 1] = this.#end;
    this.#places[at + 2] = this.#end + bytes;
    this.#end += room;
    this.#next += 1;
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
        lines.push(this.#bytes.toString('utf8', this.#places[at + 1], this.#places[at + 2]));
    }
    return lines.reverse();
  }
}
