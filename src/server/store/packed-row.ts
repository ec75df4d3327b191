import type { KeptText } from './kept-texts.ts';
import type { KvEntry, RowPack } from './kv.ts';
import { CODEC } from './records.ts';
import { hashIn, referenceFrom } from './unread-deployment.ts';

/** Walks the rows of a pack: what it says is of the row that `next` went to. */
export class PackedRow implements KeptText {
  readonly piece: Buffer;
  /** Which beginning its key has. */
  place = 0;
  id = '';
  createRevision = 0;
  modRevision = 0;
  /** Of its value, in `piece`. */
  from = 0;
  bytes = 0;
  readonly #pack: RowPack;
  #at = -1;
  /** The next reference to a credential, in whichever row. */
  #reference = -1;

  constructor(pack: RowPack) {
    const { buffer, byteOffset, length } = pack.values;
    this.#pack = pack;
    this.piece = Buffer.from(buffer, byteOffset, length);
  }

  next(): boolean {
    const { places, ids, createRevisions, modRevisions, starts, ends } = this.#pack;
    const at = (this.#at += 1);
    if (at >= places.length) return false;
    this.place = places[at] ?? 0;
    this.id = ids[at] ?? this.id;
    this.createRevision = createRevisions[at] ?? 0;
    this.modRevision = modRevisions[at] ?? 0;
    this.from = starts === undefined ? this.from + this.bytes : (starts[at] ?? 0);
    this.bytes = (ends[at] ?? 0) - this.from;
    return true;
  }

  /** Whether its members are as this release has them. */
  get isCurrent(): boolean {
    return CODEC.isCurrentAt(this.piece, this.from, this.from + this.bytes);
  }

  /** Of a deployment that may stay unread, where the hash of its spec begins. */
  hashAt(): number | undefined {
    const to = this.from + this.bytes;
    if (this.#reference < this.from) this.#reference = referenceFrom(this.piece, this.from);
    return this.#reference < to ? undefined : hashIn(this.piece, this.from, to);
  }

  entry(): KvEntry {
    const { createRevision, modRevision, from, bytes } = this;
    return {
      key: `${this.#pack.beginnings[this.place] ?? ''}${this.id}`,
      value: this.piece.toString('utf8', from, from + bytes),
      createRevision,
      modRevision,
    };
  }
}
