import type { Stored } from './collection.ts';
import type { KeptText } from './kept-texts.ts';
import { decodeRecord } from './records.ts';
import type { SharedStrings } from './shared-strings.ts';

/** A record as its text until somebody asks for it: a start need not decode it, nor the collector look at it. */
export class UnreadRecord<T> implements Stored<T> {
  readonly id: string;
  readonly modRevision: number;
  readonly createRevision: number;
  readonly bytes: number;
  readonly #strings: SharedStrings;
  #piece: Buffer | undefined;
  readonly #from: number;
  #record: T | undefined;

  constructor(
    { id, modRevision, createRevision, bytes }: Omit<Required<Stored<unknown>>, 'record'>,
    { piece, from }: KeptText,
    strings: SharedStrings,
  ) {
    this.id = id;
    this.modRevision = modRevision;
    this.createRevision = createRevision;
    this.bytes = bytes;
    this.#strings = strings;
    this.#piece = piece;
    this.#from = from;
    this.#record = undefined;
  }

  /** Undefined once it was read. */
  get text(): string | undefined {
    return this.part(0, this.bytes);
  }

  /** Of the text, by bytes. */
  protected part(from: number, to: number): string | undefined {
    return this.#piece?.toString('utf8', this.#from + from, this.#from + Math.min(to, this.bytes));
  }

  get record(): T {
    if (this.#record !== undefined) return this.#record;
    const record = decodeRecord<T>(this.id, this.text ?? '');
    this.#strings.within(record);
    this.#record = record;
    this.#piece = undefined;
    return record;
  }
}
