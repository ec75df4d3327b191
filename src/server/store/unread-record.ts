import type { Stored } from './collection.ts';
import type { KeptText } from './kept-texts.ts';
import { decodeRecord } from './records.ts';
import type { SharedStrings } from './shared-strings.ts';

const FIRST_MEMBER = /^\{"v":\d+,"id":"([^"\\]*)",/;
/** More than that member takes. */
const FIRST_BYTES = 80;

/** Bytes of texts that were not read. */
export interface UnreadBytes {
  bytes: number;
}

/**
 * A record as its text until somebody asks for it: a start need not decode it, nor the collector look at it. The text lies among others outside the heap, or
 * is that of a record that was just written, which is lent to those who are told of it.
 */
export class UnreadRecord<T> implements Stored<T> {
  readonly id: string;
  readonly modRevision: number;
  readonly createRevision: number;
  readonly bytes: number;
  readonly #strings: SharedStrings;
  readonly #unread: UnreadBytes;
  #counts: 'later' | 'now' | 'no more' = 'later';
  #piece: Buffer | string | undefined;
  readonly #from: number;
  #record: T | undefined;

  constructor(
    { id, modRevision, createRevision, bytes }: Omit<Required<Stored<unknown>>, 'record'>,
    text: KeptText | string,
    strings: SharedStrings,
    unread: UnreadBytes,
  ) {
    this.id = id;
    this.modRevision = modRevision;
    this.createRevision = createRevision;
    this.bytes = bytes;
    this.#strings = strings;
    this.#piece = typeof text === 'string' ? text : text.piece;
    this.#from = typeof text === 'string' ? 0 : text.from;
    this.#record = undefined;
    this.#unread = unread;
    if (typeof text !== 'string') this.#count();
  }

  #count(): void {
    if (this.#counts !== 'later') return;
    this.#counts = 'now';
    this.#unread.bytes += this.bytes;
  }

  /** It was read, or nobody will ask for it any more; it may be replaced while it is lent. */
  uncount(): void {
    if (this.#counts === 'now') this.#unread.bytes -= this.bytes;
    this.#counts = 'no more';
  }

  /** Undefined once it was read, and while it is lent. */
  get text(): string | undefined {
    if (this.#record !== undefined) return undefined;
    return typeof this.#piece === 'string' ? this.#piece : this.part(0, this.bytes);
  }

  get isUnread(): boolean {
    return this.#record === undefined;
  }

  /** What its member `id` says; undefined: that takes reading it. */
  get typedId(): string | undefined {
    const begin =
      typeof this.#piece === 'string' ? this.#piece.slice(0, FIRST_BYTES) : this.part(0, FIRST_BYTES);
    return FIRST_MEMBER.exec(begin ?? '')?.[1];
  }

  /** Of a text among others, by bytes. */
  protected part(from: number, to: number): string | undefined {
    if (typeof this.#piece === 'string') return undefined;
    return this.#piece?.toString('utf8', this.#from + from, this.#from + Math.min(to, this.bytes));
  }

  /** What the text says: it need not be decoded until `takeBack`. */
  lend(record: T): void {
    this.#record = record;
  }

  takeBack(): void {
    if (this.#piece === undefined) return;
    this.#record = undefined;
    this.#count();
  }

  /** What was lent stays, and the text goes. */
  leave(): void {
    if (this.#record !== undefined) this.#piece = undefined;
  }

  get record(): T {
    return this.#record ?? this.read();
  }

  /** From now on it is what the text says, in memory too. */
  read(): T {
    if (this.#record !== undefined) return this.#record;
    const record = decodeRecord<T>(this.id, this.text ?? '');
    this.#strings.within(record);
    this.#record = record;
    this.#piece = undefined;
    this.uncount();
    return record;
  }
}
