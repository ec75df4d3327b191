/** Of one piece of memory: what is left of it when the next text does not fit is lost. */
const PIECE_BYTES = 256 * 1024;

/** Where a text is. */
export interface KeptText {
  readonly piece: Buffer;
  readonly from: number;
}

/** Texts outside the heap, many in one piece of memory: the collector neither copies nor looks through them. A piece goes with its last text. */
export class KeptTexts {
  #piece = Buffer.alloc(0);
  #used = 0;

  /** `bytes`: of the text in UTF-8. */
  keep(text: string, bytes: number): KeptText {
    const kept = this.#room(bytes);
    kept.piece.write(text, kept.from, bytes);
    return kept;
  }

  /** One that lies in a piece which is not to be held for it. */
  copy({ piece, from }: KeptText, bytes: number): KeptText {
    const kept = this.#room(bytes);
    piece.copy(kept.piece, kept.from, from, from + bytes);
    return kept;
  }

  #room(bytes: number): KeptText {
    if (this.#used + bytes > this.#piece.length) {
      this.#piece = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, bytes));
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += bytes;
    return { piece: this.#piece, from };
  }
}
