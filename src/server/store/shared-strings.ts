/** Shorter ones are shared by the parser. */
const FROM_LENGTH = 10;
/** As many strings are remembered until half of them are forgotten, those that were not met for longest. */
const REMEMBERED = 100_000;

/**
 * Equal strings as one, in records that were just parsed. A deployment's name, id, image and the hash of its spec each stand in several of
 * its records, and a tenant's deployments have images in common: as text of their own they would be a third of what a view takes.
 */
export class SharedStrings {
  readonly #most: number;
  /** Met of late, and before: what a deployment's records share is written, and so read, within a short time. */
  #known = new Map<string, string>();
  #before = new Map<string, string>();
  #lastId = '';

  constructor(most = REMEMBERED) {
    this.#most = most / 2;
  }

  /** Of a key. */
  ownId(id: string): string {
    // Records of one deployment often come one after another.
    if (id !== this.#lastId) this.#lastId = this.own(id);
    return this.#lastId;
  }

  /** As a text of its own, which does not hold the longer one that it was cut from. */
  own(text: string): string {
    return this.#find(text) ?? this.#remember(Buffer.from(text).toString());
  }

  #find(text: string): string | undefined {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const before = this.#before.get(text);
    return before === undefined ? undefined : this.#remember(before);
  }

  #remember(text: string): string {
    if (this.#known.size >= this.#most) {
      this.#before = this.#known;
      this.#known = new Map();
    }
    this.#known.set(text, text);
    return text;
  }

  /** Alters the record, which nobody else may have yet. */
  within(record: unknown): void {
    if (Array.isArray(record)) this.#elements(record);
    else if (isAlterable(record)) this.#members(record);
  }

  #members(record: Record<string, unknown>): void {
    // oxlint-disable-next-line guard-for-in -- parsed from JSON: no member is inherited.
    for (const name in record) {
      const value = record[name];
      if (typeof value === 'string') {
        const shared = this.#text(value);
        if (shared !== undefined) record[name] = shared;
      } else this.within(value);
    }
  }

  #elements(list: unknown[]): void {
    for (let at = 0; at < list.length; at += 1) {
      const value = list[at];
      if (typeof value === 'string') list[at] = this.#text(value) ?? value;
      else this.within(value);
    }
  }

  /** Undefined: the text itself is kept. */
  #text(text: string): string | undefined {
    if (text.length < FROM_LENGTH) return undefined;
    const known = this.#find(text);
    if (known === undefined) this.#remember(text);
    return known;
  }
}

function isAlterable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
