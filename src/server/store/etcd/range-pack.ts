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

/** Rows of one answer: of two kinds mostly, so that the beginning of a key is most often that of the key before. */
class Rows {
  readonly #message: AnswerBytes;
  readonly #prefixBytes: number;
  readonly beginnings: string[] = [];
  readonly places: number[] = [];
  readonly ids: string[] = [];
  readonly createRevisions: number[] = [];
  readonly modRevisions: number[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** Of the newest beginning, in the answer. */
  #from = 0;
  #to = 0;
  /** Whether other keys may have it, too. */
  #repeats = false;
  #keyFrom = 0;
  #keyTo = 0;
  bytes = 0;

  constructor(message: AnswerBytes, prefixBytes: number) {
    this.#message = message;
    this.#prefixBytes = prefixBytes;
  }

  take(end: number): void {
    const message = this.#message;
    let [from, to] = [0, 0];
    let [createRevision, modRevision] = [0, 0];
    this.#keyFrom = 0;
    this.#keyTo = 0;
    while (message.at < end) {
      const field = message.number();
      if (field === ENTRY.key) {
        this.#keyTo = message.end();
        this.#keyFrom = message.at;
        message.at = this.#keyTo;
      } else if (field === ENTRY.value) {
        to = message.end();
        from = message.at;
        message.at = to;
      } else if (field === ENTRY.createRevision) createRevision = message.number();
      else if (field === ENTRY.modRevision) modRevision = message.number();
      else message.skip(field);
    }
    if (!isUtf8(message.bytes.subarray(from, to))) throw unreadable('a text that is not UTF-8');
    this.#name();
    this.createRevisions.push(createRevision);
    this.modRevisions.push(modRevision);
    this.starts.push(from);
    this.ends.push(to);
    this.bytes += to - from;
  }

  #name(): void {
    const { bytes } = this.#message;
    const [from, to] = [this.#keyFrom, this.#keyTo];
    const length = this.#to - this.#from;
    const isSame =
      this.#repeats &&
      to - from > length &&
      bytes.compare(bytes, this.#from, this.#to, from, from + length) === 0;
    if (!isSame) this.#begin();
    this.places.push(this.beginnings.length - 1);
    this.ids.push(this.#message.text(from + this.#to - this.#from, to));
  }

  /** A key that is none of a record is all beginning. */
  #begin(): void {
    const from = this.#keyFrom + this.#prefixBytes;
    const key = this.#message.text(from, this.#keyTo);
    const beginning = beforeId(key);
    this.beginnings.push(beginning ?? key);
    this.#from = this.#keyFrom;
    this.#to = from + Buffer.byteLength(beginning ?? key);
    this.#repeats = beginning !== undefined;
  }

  lastKey(): string {
    return this.#message.text(this.#keyFrom, this.#keyTo);
  }
}

/** `prefixBytes`: of every key before what the port calls its key. */
export function decodePack(bytes: Buffer, prefixBytes: number): PackedAnswer {
  const message = new AnswerBytes(bytes);
  const rows = new Rows(message, prefixBytes);
  let revision = 0;
  let more = false;
  while (!message.isOver) {
    const field = message.number();
    if (field === ANSWER.kvs) rows.take(message.end());
    else if (field === ANSWER.header) revision = message.revision(message.end());
    else if (field === ANSWER.more) more = message.number() !== 0;
    else message.skip(field);
  }
  const { beginnings, ids } = rows;
  return {
    rows: {
      beginnings,
      places: Uint16Array.from(rows.places),
      ids,
      createRevisions: Float64Array.from(rows.createRevisions),
      modRevisions: Float64Array.from(rows.modRevisions),
      values: bytes,
      starts: Uint32Array.from(rows.starts),
      ends: Uint32Array.from(rows.ends),
    },
    revision,
    more,
    last: ids.length === 0 ? undefined : rows.lastKey(),
    bytes: rows.bytes,
  };
}
