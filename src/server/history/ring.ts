import { type Fold, folded, type Level } from './columns.ts';

/** A ring as it is written down. */
export interface SavedRing {
  readonly newest: number;
  readonly counts: readonly number[];
  readonly values: Float32Array;
}

/** Kept at first; doubled when they are full. */
const FIRST_STEPS = 8;

/**
 * Figures of the last steps of one length, column by column. What nobody said is not a number, never zero. It takes the memory of the steps
 * since its first figure, and of the columns from the first to the last that have any: of nodes only failures are known.
 */
export class Ring {
  readonly #level: Level;
  readonly #folds: readonly Fold[];
  /** By step, each with the columns from `#first` up to `#end`. */
  #values = new Float32Array(0);
  #capacity: number;
  #first = 0;
  #end = 0;
  /** Samples of the newest step, by column. */
  readonly #counts: number[];
  /** Which step, counted from 1970. Nothing is known of those before. */
  #oldest = 0;
  #newest = -1;

  constructor(level: Level, folds: readonly Fold[]) {
    this.#level = level;
    this.#folds = folds;
    this.#capacity = Math.min(FIRST_STEPS, level.length);
    this.#counts = folds.map(() => 0);
  }

  get newest(): number {
    return this.#newest;
  }

  /** Of the figures. */
  get bytes(): number {
    return this.#values.byteLength;
  }

  /** One value per column; not a number: not known. */
  add(atMs: number, values: readonly number[]): void {
    const step = Math.floor(atMs / this.#level.stepMs);
    if (step !== this.#newest) this.#turn(step);
    for (const [at, fold] of this.#folds.entries()) {
      const value = values[at] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      this.#widen(at);
      const place = this.#place(step, at);
      const count = this.#counts[at] ?? 0;
      this.#values[place] = folded(fold, this.#values[place] ?? 0, count, value);
      this.#counts[at] = count + 1;
    }
  }

  /** From one step to another, both included; not a number where nothing is known. */
  read(from: number, to: number): number[][] {
    return this.#folds.map((_, at) => {
      const column: number[] = [];
      for (let step = from; step <= to; step += 1) column.push(this.#at(step, at));
      return column;
    });
  }

  saved(): SavedRing {
    const { length } = this.#level;
    const columns = this.#folds.length;
    const values = new Float32Array(length * columns).fill(Number.NaN);
    for (let step = this.#oldest; step <= this.#newest; step += 1)
      for (let at = this.#first; at < this.#end; at += 1)
        values[(step % length) * columns + at] = this.#at(step, at);
    return { newest: this.#newest, counts: [...this.#counts], values };
  }

  /** What is of another form is left. */
  restore({ newest, counts, values }: SavedRing): void {
    const { length } = this.#level;
    const columns = this.#folds.length;
    if (values.length !== length * columns || counts.length !== columns || newest < 0) return;
    const saved = (step: number, at: number): number => values[(step % length) * columns + at] ?? Number.NaN;
    const known = (step: number): boolean => this.#folds.some((_, at) => !Number.isNaN(saved(step, at)));
    let oldest = Math.max(0, newest - length + 1);
    while (oldest < newest && !known(oldest)) oldest += 1;
    [this.#oldest, this.#newest] = [oldest, newest];
    [this.#first, this.#end] = [0, 0];
    this.#resize(newest - oldest + 1);
    for (let step = oldest; step <= newest; step += 1)
      for (let at = 0; at < columns; at += 1) {
        const value = saved(step, at);
        if (Number.isNaN(value)) continue;
        this.#widen(at);
        this.#values[this.#place(step, at)] = value;
      }
    for (const [at, count] of counts.entries()) this.#counts[at] = count;
  }

  #at(step: number, column: number): number {
    const isKept =
      step >= this.#oldest && step <= this.#newest && column >= this.#first && column < this.#end;
    return isKept ? (this.#values[this.#place(step, column)] ?? Number.NaN) : Number.NaN;
  }

  #place(step: number, column: number): number {
    return (step % this.#capacity) * (this.#end - this.#first) + column - this.#first;
  }

  #widen(column: number): void {
    if (column >= this.#first && column < this.#end) return;
    const isFirst = this.#first === this.#end;
    this.#resize(
      this.#capacity,
      isFirst ? column : Math.min(this.#first, column),
      isFirst ? column + 1 : Math.max(this.#end, column + 1),
    );
  }

  /** Room for so many steps, and what is known in its new place. */
  #resize(steps: number, first = this.#first, end = this.#end): void {
    const capacity = Math.min(this.#level.length, Math.max(steps, FIRST_STEPS));
    const width = end - first;
    const values = new Float32Array(capacity * width).fill(Number.NaN);
    for (let step = this.#oldest; step <= this.#newest; step += 1)
      for (let at = this.#first; at < this.#end; at += 1)
        values[(step % capacity) * width + at - first] = this.#at(step, at);
    this.#values = values;
    [this.#capacity, this.#first, this.#end] = [capacity, first, end];
  }

  /**
   * Steps that were passed over are gaps. When the clock went back, what it had shown since is dropped: there is one figure for a time,
   * and the later one is right.
   */
  #turn(step: number): void {
    const { length } = this.#level;
    const isBeyond = this.#newest === -1 || step < this.#oldest || step - this.#newest >= length;
    const before = isBeyond || step < this.#newest ? step - 1 : this.#newest;
    this.#oldest = isBeyond ? step : Math.max(this.#oldest, step - length + 1);
    const steps = step - this.#oldest + 1;
    if (steps > this.#capacity) this.#resize(Math.max(steps, 2 * this.#capacity));
    this.#newest = step;
    for (let at = before + 1; at <= step; at += 1) {
      const row = this.#place(at, this.#first);
      this.#values.fill(Number.NaN, row, row + this.#end - this.#first);
    }
    this.#counts.fill(0);
  }
}
