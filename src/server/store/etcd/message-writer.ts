/** Of a field whose value is a number. */
const VARINT = 0;
/** Of a field whose value is text or another message: its length comes first. */
const LENGTH_DELIMITED = 2;
const START_BYTES = 64 * 1024;
/** A buffer that one large message needed is not kept. */
const MAX_KEPT_BYTES = 1024 * 1024;

export function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes += 1;
  return bytes;
}

/** Bytes of a length-delimited field, its tag and length included; field numbers up to 15. */
export function fieldBytes(length: number): number {
  return 1 + varintBytes(length) + length;
}

/**
 * Writes one Protocol Buffers message front to back into a buffer that is used again: a nested message is opened with its length,
 * which its writer has computed, so that nothing is built, linked or copied in between. Field numbers up to 15 only.
 */
export class MessageWriter {
  #bytes = Buffer.allocUnsafe(START_BYTES);
  #at = 0;

  /** A message that was given up half-way leaves nothing. */
  start(): void {
    this.#at = 0;
  }

  /** Zero or a positive integer. */
  number(field: number, value: number): void {
    this.#makeRoom(1 + varintBytes(value));
    this.#bytes[this.#at] = (field << 3) | VARINT;
    this.#at += 1;
    this.#varint(value);
  }

  /** `length` is that of its UTF-8 bytes. */
  text(field: number, text: string, length: number): void {
    this.open(field, length);
    this.#makeRoom(length);
    this.#bytes.write(text, this.#at, length, 'utf8');
    this.#at += length;
  }

  /** What is written next, to this length, is the nested message. */
  open(field: number, length: number): void {
    this.#makeRoom(1 + varintBytes(length));
    this.#bytes[this.#at] = (field << 3) | LENGTH_DELIMITED;
    this.#at += 1;
    this.#varint(length);
  }

  finish(): Buffer {
    const message = Buffer.from(this.#bytes.subarray(0, this.#at));
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(START_BYTES);
    return message;
  }

  #varint(value: number): void {
    let rest = value;
    // Revisions and leases go beyond 32 bits, where shifts end.
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) {
      this.#bytes[this.#at] = (rest % 0x80) | 0x80;
      this.#at += 1;
    }
    this.#bytes[this.#at] = rest;
    this.#at += 1;
  }

  #makeRoom(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
