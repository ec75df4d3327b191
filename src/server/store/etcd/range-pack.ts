import { isUtf8 } from 'node:buffer';
import { beforeId } from '../keys.ts';
import type { RowPack } from '../kv.ts';
import { ANSWER, AnswerBytes, ENTRY, unreadable } from './answer-bytes.ts';

/** An answer of a load, whose values stay where they arrived. Keys are as etcd has them. */
export interface PackedAnswer {
  readonly rows: Omit<RowPack, 'revision'>;
  readonly revision: number;
  readonly more: boolean;
  /** Its last key; undefined: there is no row. */
  readonly last: string | undefined;
  /** Of all values. */
  readonly bytes: number;
}

/** Rows of one answer, in the order of their keys: of two kinds mostly. */
class Rows {
  readonly #message: AnswerBytes;
  readonly createRevisions: number[] = [];
  readonly modRevisions: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  readonly #keyStarts: number[] = [];
  readonly #keyEnds: number[] = [];
  bytes = 0;

  constructor(message: AnswerBytes) {
    this.#message = message;
  }

  get #length(): number {
    return this.#keyStarts.length;
  }

  take(end: number): void {
    const message = this.#message;
    let [from, to] = [0, 0];
    let [keyFrom, keyTo] = [0, 0];
    let [createRevision, modRevision] = [0, 0];
    while (message.at < end) {
      const field = message.number();
      if (field === ENTRY.key) {
        keyTo = message.end();
        keyFrom = message.at;
        message.at = keyTo;
      } else if (field === ENTRY.value) {
        to = message.end();
        from = message.at;
        message.at = to;
      } else if (field === ENTRY.createRevision) createRevision = message.number();
      else if (field === ENTRY.modRevision) modRevision = message.number();
      else message.skip(field);
    }
    if (!isUtf8(message.bytes.subarray(from, to))) throw unreadable('a text that is not UTF-8');
    this.#keyStarts.push(keyFrom);
    this.#keyEnds.push(keyTo);
    this.createRevisions.push(createRevision);
    this.modRevisions.push(modRevision);
    this.starts.push(from);
    this.ends.push(to);
    this.bytes += to - from;
  }

  /** `prefixBytes`: of every key before what the port calls its key. */
  names(prefixBytes: number): Pick<RowPack, 'beginnings' | 'places' | 'ids'> {
    const beginnings: string[] = [];
    const places = new Uint16Array(this.#length);
    const idStarts: number[] = [];
    for (let at = 0; at < this.#length; ) {
      const key = this.#text(at, prefixBytes);
      const beginning = beforeId(key);
      const length = prefixBytes + Buffer.byteLength(beginning ?? key);
      // A key that is none of a record is all beginning.
      const next = beginning === undefined ? at + 1 : this.#runEnd(at, length);
      places.fill(beginnings.length, at, next);
      for (; at < next; at += 1) idStarts.push((this.#keyStarts[at] ?? 0) + length);
      beginnings.push(beginning ?? key);
    }
    return { beginnings, places, ids: this.#message.texts(idStarts, this.#keyEnds) };
  }

  lastKey(): string | undefined {
    return this.#length === 0 ? undefined : this.#text(this.#length - 1, 0);
  }

  #text(at: number, skipped: number): string {
    return this.#message.text((this.#keyStarts[at] ?? 0) + skipped, this.#keyEnds[at] ?? 0);
  }

  /** The first row after this one whose key begins with other bytes. Keys are in order: what two of them begin with, those between them do. */
  #runEnd(at: number, length: number): number {
    let [same, other] = [at, this.#length];
    for (let next = other - 1; same + 1 < other; next = (same + other) >>> 1) {
      if (this.#isSame(at, next, length)) same = next;
      else other = next;
    }
    return other;
  }

  #isSame(one: number, other: number, length: number): boolean {
    const from = this.#keyStarts[one] ?? 0;
    const otherFrom = this.#keyStarts[other] ?? 0;
    if ((this.#keyEnds[other] ?? 0) - otherFrom < length) return false;
    const { bytes } = this.#message;
    return bytes.compare(bytes, from, from + length, otherFrom, otherFrom + length) === 0;
  }
}

/** `prefixBytes`: of every key before what the port calls its key. */
export function decodePack(bytes: Buffer, prefixBytes: number): PackedAnswer {
  const message = new AnswerBytes(bytes);
  const rows = new Rows(message);
  let revision = 0;
  let more = false;
  while (!message.isOver) {
    const field = message.number();
    if (field === ANSWER.kvs) rows.take(message.end());
    else if (field === ANSWER.header) revision = message.revision(message.end());
    else if (field === ANSWER.more) more = message.number() !== 0;
    else message.skip(field);
  }
  return {
    rows: {
      ...rows.names(prefixBytes),
      createRevisions: Float64Array.from(rows.createRevisions),
      modRevisions: Float64Array.from(rows.modRevisions),
      values: bytes,
      starts: Uint32Array.from(rows.starts),
      ends: Uint32Array.from(rows.ends),
    },
    revision,
    more,
    last: rows.lastKey(),
    bytes: rows.bytes,
  };
}
