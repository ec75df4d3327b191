/** A record with the revision it was read at; what a guard compares. */
export interface Stored<T> {
  readonly id: string;
  readonly record: T;
  readonly modRevision: number;
  readonly createRevision: number;
}

export interface Page {
  readonly after?: string;
  readonly limit?: number;
}

function lowerBound(ids: readonly string[], id: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Records of one kind in one scope, by id, listable in id order without sorting per list. */
export class Collection<T> {
  readonly #byId = new Map<string, Stored<T>>();
  /** Kept sorted; a bulk load appends in key order, so insertion is at the end almost always. */
  readonly #ids: string[] = [];

  get size(): number {
    return this.#byId.size;
  }

  get(id: string): Stored<T> | undefined {
    return this.#byId.get(id);
  }

  set(stored: Stored<T>): void {
    if (!this.#byId.has(stored.id)) {
      const last = this.#ids.at(-1);
      if (last === undefined || last < stored.id) this.#ids.push(stored.id);
      else this.#ids.splice(lowerBound(this.#ids, stored.id), 0, stored.id);
    }
    this.#byId.set(stored.id, stored);
  }

  delete(id: string): Stored<T> | undefined {
    const existing = this.#byId.get(id);
    if (existing === undefined) return undefined;
    this.#byId.delete(id);
    this.#ids.splice(lowerBound(this.#ids, id), 1);
    return existing;
  }

  list(page: Page = {}): Stored<T>[] {
    return this.#slice(
      page.after === undefined ? 0 : lowerBound(this.#ids, `${page.after}\u0000`),
      page.limit,
      () => true,
    );
  }

  /** Ids under `<prefix>/`. */
  listUnder(prefix: string): Stored<T>[] {
    const start = `${prefix}/`;
    return this.#slice(lowerBound(this.#ids, start), undefined, (id) => id.startsWith(start));
  }

  #slice(from: number, limit: number | undefined, within: (id: string) => boolean): Stored<T>[] {
    const result: Stored<T>[] = [];
    for (let index = from; index < this.#ids.length; index += 1) {
      const id = this.#ids[index];
      if (id === undefined || !within(id) || result.length === limit) break;
      const stored = this.#byId.get(id);
      if (stored) result.push(stored);
    }
    return result;
  }

  ids(): readonly string[] {
    return this.#ids;
  }
}
