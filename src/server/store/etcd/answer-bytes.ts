import { isAscii } from 'node:buffer';
import { CODE, WireError } from './wire.ts';

/** Kinds of values, as they stand before one with the number of its field. */
const VARINT = 0;
const FIXED_64 = 1;
const DELIMITED = 2;
const FIXED_32 = 5;
const tag = (field: number, kind: number): number => (field << 3) | kind;

/** Fields of etcd's messages that are read here, by the names of etcdserverpb and mvccpb. */
export const ANSWER = { header: tag(1, DELIMITED), kvs: tag(2, DELIMITED), more: tag(3, VARINT) } as const;
export const ENTRY = {
  key: tag(1, DELIMITED),
  createRevision: tag(2, VARINT),
  modRevision: tag(3, VARINT),
  value: tag(5, DELIMITED),
} as const;
const HEADER = { revision: tag(3, VARINT) } as const;

/** What a byte that is no UTF-8 becomes. */
const REPLACEMENT = '\ufffd';

export function unreadable(what: string): WireError {
  return new WireError(CODE.internal, `etcd sent ${what}`, true);
}

/**
 * An answer from front to back. A start reads every live record by it: a general decoder makes objects of all numbers and takes twice
 * the time. What is not known is skipped, as any decoder does.
 */
export class AnswerBytes {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get isOver(): boolean {
    return this.at >= this.bytes.length;
  }

  /** Of the header that ends there. */
  revision(end: number): number {
    let revision = 0;
    while (this.at < end) {
      const field = this.number();
      if (field === HEADER.revision) revision = this.number();
      else this.skip(field);
    }
    return revision;
  }

  /** Of what has its length before it. */
  end(): number {
    const length = this.number();
    const end = this.at + length;
    if (end > this.bytes.length) throw unreadable('a message that was cut off');
    return end;
  }

  /** Exact up to 2^53; ids of members, which are larger, are skipped. */
  number(): number {
    let byte = this.#byte();
    let value = byte & 0x7f;
    for (let factor = 0x80; byte >= 0x80; factor *= 0x80) {
      byte = this.#byte();
      value += (byte & 0x7f) * factor;
    }
    return value;
  }

  text(from: number, end: number): string {
    const text = this.bytes.toString('utf8', from, end);
    if (text.includes(REPLACEMENT) && !Buffer.from(text).equals(this.bytes.subarray(from, end)))
      throw unreadable('a text that is not UTF-8');
    return text;
  }

  /** Short ones, cut from one text: each by itself takes several times as long. */
  texts(starts: readonly number[], ends: readonly number[]): string[] {
    const { bytes } = this;
    const length = starts.reduce((sum, start, at) => sum + (ends[at] ?? 0) - start, 0);
    const joined = Buffer.allocUnsafe(length);
    let end = 0;
    for (const [at, start] of starts.entries())
      for (let from = start; from < (ends[at] ?? 0); from += 1) joined[end++] = bytes[from] ?? 0;
    if (!isAscii(joined)) return starts.map((start, at) => this.text(start, ends[at] ?? 0));
    const text = joined.toString('latin1');
    let to = 0;
    return starts.map((start, at) => text.slice(to, (to += (ends[at] ?? 0) - start)));
  }

  #byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw unreadable('a message that was cut off');
    this.at += 1;
    return byte;
  }

  skip(field: number): void {
    const kind = field & 7;
    if (kind === VARINT) this.number();
    else if (kind === DELIMITED) this.at = this.end();
    else if (kind === FIXED_64) this.at += 8;
    else if (kind === FIXED_32) this.at += 4;
    else throw unreadable(`a field of kind ${kind}`);
  }
}
