type Labels = Readonly<Record<string, string>>;

/** Which slots carry a label with a value, so that a selective constraint needs no walk over all nodes. */
export class LabelIndex {
  private readonly slots = new Map<string, Set<number>>();

  replace(slot: number, before: Labels | undefined, after: Labels | undefined): void {
    if (before === after) return;
    for (const [key, value] of Object.entries(before ?? {})) {
      const name = entry(key, value);
      const carriers = this.slots.get(name);
      carriers?.delete(slot);
      if (carriers?.size === 0) this.slots.delete(name);
    }
    for (const [key, value] of Object.entries(after ?? {})) {
      const name = entry(key, value);
      const carriers = this.slots.get(name);
      if (carriers) carriers.add(slot);
      else this.slots.set(name, new Set([slot]));
    }
  }

  /** The carriers of the rarest of the labels; undefined when no label is asked for. */
  rarest(constraints: Labels | undefined): ReadonlySet<number> | undefined {
    let smallest: ReadonlySet<number> | undefined;
    for (const [key, value] of Object.entries(constraints ?? {})) {
      const carriers = this.slots.get(entry(key, value)) ?? EMPTY;
      if (smallest === undefined || carriers.size < smallest.size) smallest = carriers;
    }
    return smallest;
  }
}

const EMPTY: ReadonlySet<number> = new Set();

/** Unambiguous: the length tells where the key ends. */
function entry(key: string, value: string): string {
  return `${key.length} ${key} ${value}`;
}
