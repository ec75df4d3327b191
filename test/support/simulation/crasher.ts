/** Where a process can die: a commit of the control plane, or a call of an agent to its engine. */
export const CRASH_KINDS = ['commit', 'call'] as const;
export type CrashKind = (typeof CRASH_KINDS)[number];
/** Before: what was to be done never arrives. After: it is done, and nobody is left to hear the answer. */
export const CRASH_SIDES = ['before', 'after'] as const;
export type CrashSide = (typeof CRASH_SIDES)[number];

export interface CrashPoint {
  readonly kind: CrashKind;
  /** Counted from 1, from when the path begins. */
  readonly at: number;
  readonly side: CrashSide;
}

/** Counts the points of a path, and names the one at which this run has a crash. */
export class Crasher {
  readonly #point: CrashPoint | undefined;
  readonly #counted: Record<CrashKind, number> = { commit: 0, call: 0 };
  #counting = false;
  fired = false;

  /** Without a point it only counts. */
  constructor(point?: CrashPoint) {
    this.#point = point;
  }

  begin(): void {
    this.#counting = true;
  }

  end(): void {
    this.#counting = false;
  }

  get counted(): Readonly<Record<CrashKind, number>> {
    return this.#counted;
  }

  meet(kind: CrashKind): CrashSide | undefined {
    if (!this.#counting) return undefined;
    this.#counted[kind] += 1;
    if (this.fired || this.#point?.kind !== kind || this.#point.at !== this.#counted[kind]) return undefined;
    this.fired = true;
    return this.#point.side;
  }
}
