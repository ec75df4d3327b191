/** At most so many at once of all, and of each: one that takes what it can get leaves the others theirs. */
export class Shares {
  readonly #most: { readonly all: number; readonly each: number };
  readonly #inside = new Map<string, number>();
  #all = 0;

  constructor(most: { readonly all: number; readonly each: number }) {
    this.#most = most;
  }

  /** Undefined: there is no room. Otherwise what gives the place back, once. */
  enter(who: string): (() => void) | undefined {
    const own = this.#inside.get(who) ?? 0;
    if (this.#all >= this.#most.all || own >= this.#most.each) return undefined;
    this.#all += 1;
    this.#inside.set(who, own + 1);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#all -= 1;
      const left = (this.#inside.get(who) ?? 1) - 1;
      if (left === 0) this.#inside.delete(who);
      else this.#inside.set(who, left);
    };
  }
}
