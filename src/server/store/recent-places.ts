/** Beginnings that follow one another in a load: those of one deployment's records, or of two tenants' at most. */
const REMEMBERED = 6;

interface Place<T> {
  readonly beginning: string;
  readonly value: T;
}

/** What belongs to the beginning of a key, for keys that repeat a few of them: comparing is faster than cutting the key and looking its parts up. */
export class RecentPlaces<T> {
  readonly #places: Place<T>[] = [];
  #next = 0;
  #last = 0;
  #step = 0;

  /** Undefined: it is not among the last ones. */
  find(key: string): Place<T> | undefined {
    const { length } = this.#places;
    for (let tried = 0; tried < length; tried += 1) {
      // In the order of the table kinds take turns, in that of the keys the same one comes again: it goes on as it did.
      const step = (this.#step + tried) % length;
      const at = (this.#last + step) % length;
      const place = this.#places[at];
      if (place === undefined || !key.startsWith(place.beginning)) continue;
      this.#last = at;
      this.#step = step;
      return place;
    }
    return undefined;
  }

  note(beginning: string, value: T): void {
    this.#places[this.#next] = { beginning, value };
    this.#last = this.#next;
    this.#next = (this.#next + 1) % REMEMBERED;
  }
}
