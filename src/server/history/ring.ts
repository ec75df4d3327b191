import { type Fold, folded, type Level } from './columns.ts';

/** A ring as it is written down. */
export interface SavedRing {
  readonly newest: number;
  readonly counts: readonly number[];
  readonly values: Float32Array;
}

/** Figures of the last steps of one length, column by column. What nobody said is not a number, never zero. */
export class Ring {
  readonly #level: Level;
  readonly #folds: readonly Fold[];
  readonly #values: Float32Array;
  /** Samples of the newest step, by column. */
  readonly #counts: Uint16Array;
  /** Which step, counted from 1970. */
  #newest = -1;

  constructor(level: Level, folds: readonly Fold[]) {
    this.#level = level;
    this.#folds = folds;
    this.#values = new Float32Array(level.length * folds.length).fill(Number.NaN);
    this.#counts = new Uint16Array(folds.length);
  }

  get newest(): number {
    return this.#newest;
  }

  /** One value per column; not a number: not known. */
  add(atMs: number, values: readonly number[]): void {
    const step = Math.floor(atMs / this.#level.stepMs);
    if (step !== this.#newest) this.#turn(step);
    const row = this.#row(step);
    for (const [at, fold] of this.#folds.entries()) {
      const value = values[at] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const count = this.#counts[at] ?? 0;
      this.#values[row + at] = folded(fold, this.#values[row + at] ?? 0, count, value);
      this.#counts[at] = count + 1;
    }
  }

  /** From one step to another, both included; not a number where nothing is known. */
  read(from: number, to: number): number[][] {
    const { length } = this.#level;
    return this.#folds.map((_, at) => {
      const column: number[] = [];
      for (let step = from; step <= to; step += 1) {
        const isKept = step <= this.#newest && step > this.#newest - length;
        column.push(isKept ? (this.#values[this.#row(step) + at] ?? Number.NaN) : Number.NaN);
      }
      return column;
    });
  }

  saved(): SavedRing {
    return { newest: this.#newest, counts: [...this.#counts], values: this.#values };
  }

  /** What is of another form is left. */
  restore({ newest, counts, values }: SavedRing): void {
    if (values.length !== this.#values.length || counts.length !== this.#counts.length) return;
    this.#newest = newest;
    this.#counts.set(counts);
    this.#values.set(values);
  }

  #row(step: number): number {
    return (step % this.#level.length) * this.#folds.length;
  }

  /**
   * Steps that were passed over are gaps. When the clock went back, what it had shown since is dropped: there is one figure for a time,
   * and the later one is right.
   */
  #turn(step: number): void {
    const { length } = this.#level;
    const ahead = step > this.#newest;
    const first = Math.max(ahead ? this.#newest + 1 : step, (ahead ? step : this.#newest) - length + 1, 0);
    const last = ahead ? step : this.#newest;
    for (let at = first; at <= last; at += 1) {
      const row = this.#row(at);
      this.#values.fill(Number.NaN, row, row + this.#folds.length);
    }
    this.#newest = step;
    this.#counts.fill(0);
  }
}
