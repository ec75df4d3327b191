import { SortedIds } from './sorted-ids.ts';

/** A record with the revision it was read at; what a guard compares. */
export interface Stored<T> {
  readonly id: string;
  readonly record: T;
  readonly modRevision: number;
  readonly createRevision: number;
  /** Of its text in the store; known of records of the view. */
  readonly bytes?: number;
}

export interface CollectionPage {
  readonly after?: string;
  readonly limit?: number;
}

/** Records of one kind in one scope, by id, listable in id order without sorting per list. */
export class Collection<T> {
  /** Absent until there is a record: a tenant has many kinds, and of most of them none. */
  #byId: Map<string, Stored<T>> | undefined;
  /** What a record is found by besides its id; absent: by nothing else. */
  readonly otherId: ((stored: Stored<T>) => string | undefined) | undefined;
  /** Made when somebody first asks: a start would make it for all records. */
  #idOfOther: Map<string, string> | undefined;
  /** Made when somebody first lists them, too: of some kinds nobody does. */
  #ids: SortedIds | undefined;
  #bytes = 0;
  #largest = 0;
  #changes = 0;

  constructor(otherId?: (stored: Stored<T>) => string | undefined) {
    this.otherId = otherId;
  }

  /** Of all records, as text. */
  get bytes(): number {
    return this.#bytes;
  }

  /** No record has more, nor had. */
  get largest(): number {
    return this.#largest;
  }

  /** Grows with every change: what was worked out from all records holds while this is the same. */
  get changes(): number {
    return this.#changes;
  }

  get size(): number {
    return this.#byId?.size ?? 0;
  }

  get(id: string): Stored<T> | undefined {
    return this.#byId?.get(id);
  }

  /** By its other id. */
  find(otherId: string): Stored<T> | undefined {
    const id = (this.#idOfOther ??= this.#otherIds()).get(otherId);
    return id === undefined ? undefined : this.#byId?.get(id);
  }

  #otherIds(): Map<string, string> {
    const ids = new Map<string, string>();
    for (const stored of this.values()) {
      const otherId = this.otherId?.(stored);
      if (otherId !== undefined) ids.set(otherId, stored.id);
    }
    return ids;
  }

  /** In no order: faster than a list where there are many. */
  values(): Iterable<Stored<T>> {
    return this.#byId?.values() ?? [];
  }

  /** `replaced`: bytes of the record of this id until now; none: there was no record. */
  set(stored: Stored<T>, replaced = 0): void {
    const byId = (this.#byId ??= new Map());
    const { size } = byId;
    this.#changes += 1;
    if (this.#idOfOther !== undefined) this.#note(stored, replaced === 0 ? undefined : byId.get(stored.id));
    byId.set(stored.id, stored);
    const { bytes = 0 } = stored;
    if (bytes > this.#largest) this.#largest = bytes;
    this.#bytes += bytes - replaced;
    // One lookup shows whether the id is new: a start sets hundreds of thousands of them.
    if (byId.size > size) this.#ids?.insert(stored.id);
  }

  delete(id: string): Stored<T> | undefined {
    const existing = this.#byId?.get(id);
    if (existing === undefined) return undefined;
    this.#changes += 1;
    this.#byId?.delete(id);
    if (this.#idOfOther !== undefined) this.#note(undefined, existing);
    this.#ids?.delete(id);
    this.#bytes -= existing.bytes ?? 0;
    return existing;
  }

  #note(stored: Stored<T> | undefined, before: Stored<T> | undefined): void {
    const was = before && this.otherId?.(before);
    const is = stored && this.otherId?.(stored);
    if (was === is) return;
    if (was !== undefined) this.#idOfOther?.delete(was);
    if (stored !== undefined && is !== undefined) this.#idOfOther?.set(is, stored.id);
  }

  list(page: CollectionPage = {}): Stored<T>[] {
    return this.#slice(page.after === undefined ? '' : `${page.after}\u0000`, page.limit, () => true);
  }

  /** Ids under `<prefix>/`. */
  listUnder(prefix: string): Stored<T>[] {
    const start = `${prefix}/`;
    return this.#slice(start, undefined, (id) => id.startsWith(start));
  }

  #slice(from: string, limit: number | undefined, within: (id: string) => boolean): Stored<T>[] {
    const result: Stored<T>[] = [];
    this.#sorted()?.scan(from, (id) => {
      if (result.length === limit || !within(id)) return false;
      const stored = this.#byId?.get(id);
      if (stored) result.push(stored);
      return true;
    });
    return result;
  }

  #sorted(): SortedIds | undefined {
    if (this.#ids === undefined && this.#byId !== undefined)
      this.#ids = new SortedIds([...this.#byId.keys()].sort());
    return this.#ids;
  }

  ids(): readonly string[] {
    return this.#sorted()?.all() ?? [];
  }
}
