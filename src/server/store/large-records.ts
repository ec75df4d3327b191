import { decodeRecord } from './records.ts';

/** Records of at least this many bytes are held as their text, outside the heap, and parsed when they are read. */
const LARGE_BYTES = 16 * 1024;
/** Texts whose parsed form is kept: a record is usually read several times in a row. */
const PARSED_BYTES = 2 * 1024 * 1024;

/**
 * What is parsed takes up to ten times the memory of its text, in a heap of limited size. Nearly all records are small; the few that
 * are not must not decide whether a control plane starts.
 */
export class LargeRecords {
  readonly #parsed = new Map<Buffer, unknown>();
  #bytes = 0;

  isLarge(bytes: number): boolean {
    return bytes >= LARGE_BYTES;
  }

  /** Throws when it cannot be read, as a small one does: the fault is reported where it comes in. */
  hold(key: string, value: string): () => unknown {
    const text = Buffer.from(value);
    this.#keep(text, decodeRecord(key, value));
    return () => {
      const parsed = this.#parsed.get(text);
      if (parsed !== undefined) return parsed;
      const again = decodeRecord(key, text.toString());
      this.#keep(text, again);
      return again;
    };
  }

  #keep(text: Buffer, parsed: unknown): void {
    this.#parsed.set(text, parsed);
    this.#bytes += text.length;
    for (const oldest of this.#parsed.keys()) {
      if (this.#bytes <= PARSED_BYTES) return;
      this.#parsed.delete(oldest);
      this.#bytes -= oldest.length;
    }
  }
}
