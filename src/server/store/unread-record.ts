import type { Stored } from './collection.ts';
import type { KvEntry } from './kv.ts';
import { decodeRecord } from './records.ts';
import type { SharedStrings } from './shared-strings.ts';

/** A record as its text until somebody asks for it: the text is half as large, and a start need not decode it. */
export class UnreadRecord implements Stored<unknown> {
  readonly id: string;
  readonly modRevision: number;
  readonly createRevision: number;
  readonly bytes: number;
  readonly #strings: SharedStrings;
  #text: string | undefined;
  #record: unknown;

  constructor(id: string, { value, modRevision, createRevision }: KvEntry, strings: SharedStrings) {
    this.id = id;
    this.modRevision = modRevision;
    this.createRevision = createRevision;
    this.bytes = Buffer.byteLength(value);
    this.#strings = strings;
    this.#text = value;
    this.#record = undefined;
  }

  get record(): unknown {
    if (this.#text === undefined) return this.#record;
    this.#record = decodeRecord(this.id, this.#text);
    this.#strings.within(this.#record);
    this.#text = undefined;
    return this.#record;
  }
}
