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
  #kept: KeptText | undefined;
  #record: T | undefined;

  constructor(
    { id, modRevision, createRevision, bytes }: Omit<Required<Stored<unknown>>, 'record'>,
    text: KeptText,
    strings: SharedStrings,
  ) {
    this.id = id;
    this.modRevision = modRevision;
    this.createRevision = createRevision;
    this.bytes = bytes;
    this.#strings = strings;
    this.#kept = text;
    this.#record = undefined;
  }

  /** Undefined once it was read. */
  get text(): string | undefined {
    return this.beginning(this.bytes);
  }

  /** The first bytes of the text. */
  protected beginning(bytes: number): string | undefined {
    const { piece, from } = this.#kept ?? {};
    return from === undefined ? undefined : piece?.toString('utf8', from, from + Math.min(bytes, this.bytes));
  }

  get record(): T {
    if (this.#record !== undefined) return this.#record;
    const record = decodeRecord<T>(this.id, this.text ?? '');
    this.#strings.within(record);
    this.#record = record;
    this.#kept = undefined;
    return record;
  }
}
