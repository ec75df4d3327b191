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

  /** Undefined: it is not among the last ones. */
  find(key: string): Place<T> | undefined {
    for (let from = 0; from < this.#places.length; from += 1) {
      // Kinds take turns: the place after the last one is most often the next.
      const at = (this.#last + 1 + from) % this.#places.length;
      const place = this.#places[at];
      if (place === undefined || !key.startsWith(place.beginning)) continue;
      this.#last = at;
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
