/**
 * What the thread of a connection and the main thread tell each other: frames, those of one turn of the event loop in as few messages as
 * they fit in. A message by itself for each costs more than what it says.
 */
export const FRAME = {
  /** From the thread: a connection was accepted; port and address of the client, then of this side. */
  open: 1,
  /** Both ways: bytes as they are inside of TLS. */
  data: 2,
  /** Both ways: no more bytes of this side. */
  end: 3,
  /** Both ways: the connection is over. */
  close: 4,
  /** Both ways: so many of the other side's bytes were taken. */
  taken: 5,
  /** From the thread: the handshake failed, and why. */
  failed: 6,
} as const;

export type FrameKind = (typeof FRAME)[keyof typeof FRAME];

/** Of one connection and direction: bytes that were sent and not taken. Whoever sends waits at so many. */
export const WINDOW_BYTES = 64 * 1024;
/** Told in steps: not of every request. */
export const TAKEN_STEP_BYTES = 16 * 1024;

/** Connections are numbered from 1 in each thread; of none: how many that were opened the main thread has met. */
export const NO_CONNECTION = 0;

/** A message of so many is sent at once: whoever gets it begins, while the rest of the turn is done. */
const MESSAGE_BYTES = 32 * 1024;
const LEAST_MESSAGE_BYTES = 512;

/** Of a message: how many of its bytes are frames. */
const SIZE_BYTES = 4;
/** Of a frame: connection, kind, number of bytes. */
const HEAD_BYTES = 9;
/** In UTF-8. */
export const MOST_BYTES_PER_CHARACTER = 3;
const NO_BYTES = Buffer.alloc(0);

/** Frames are written where they are sent from: neither a list of them nor a second copy of an answer is made. */
export class FrameSender {
  readonly #post: (message: ArrayBuffer) => void;
  readonly #flushLater = (): void => {
    this.#isDue = false;
    this.#flush();
  };
  #message = NO_BYTES;
  #size = 0;
  #isDue = false;
  /** Room for as much as the last one had: a larger one is garbage sooner. */
  #room = LEAST_MESSAGE_BYTES;

  constructor(post: (message: ArrayBuffer) => void) {
    this.#post = post;
  }

  send(id: number, kind: FrameKind, bytes: Uint8Array = NO_BYTES): void {
    const start = this.#reserve(bytes.length);
    if (bytes.length > 0) this.#message.set(bytes, start);
    this.#finish(id, kind, start, bytes.length);
  }

  /** Returns the number of bytes that it is. */
  sendText(id: number, text: string, encoding: BufferEncoding): number {
    const start = this.#reserve(encoding === 'latin1' ? text.length : text.length * MOST_BYTES_PER_CHARACTER);
    const length = this.#message.write(text, start, encoding);
    this.#finish(id, FRAME.data, start, length);
    return length;
  }

  sendTaken(id: number, count: number): void {
    const start = this.#reserve(4);
    this.#message.writeUInt32LE(count, start);
    this.#finish(id, FRAME.taken, start, 4);
  }

  /** Where so many bytes of a frame go. */
  #reserve(length: number): number {
    const needed = HEAD_BYTES + length;
    if (this.#size > 0 && this.#size + needed > this.#message.length) {
      if (this.#size + needed > MESSAGE_BYTES) this.#flush();
      else this.#grow(this.#size + needed);
    }
    if (this.#size === 0) {
      this.#message = Buffer.allocUnsafeSlow(Math.max(this.#room, SIZE_BYTES + needed));
      this.#size = SIZE_BYTES;
    }
    if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(this.#flushLater);
    }
    return this.#size + HEAD_BYTES;
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(MESSAGE_BYTES, Math.max(least, this.#message.length * 4)));
    this.#message.copy(larger, 0, 0, this.#size);
    this.#message = larger;
  }

  #finish(id: number, kind: FrameKind, start: number, length: number): void {
    const message = this.#message;
    const head = start - HEAD_BYTES;
    message.writeUInt32LE(id, head);
    message[head + 4] = kind;
    message.writeUInt32LE(length, head + 5);
    this.#size = start + length;
  }

  #flush(): void {
    if (this.#size === 0) return;
    const { buffer } = this.#message;
    this.#message.writeUInt32LE(this.#size);
    this.#room = Math.min(MESSAGE_BYTES, Math.max(LEAST_MESSAGE_BYTES, this.#size));
    this.#message = NO_BYTES;
    this.#size = 0;
    this.#post(buffer);
  }
}

/** In their order. */
export function eachFrame(
  message: ArrayBuffer,
  take: (id: number, kind: number, bytes: Buffer) => void,
): void {
  const from = Buffer.from(message);
  const size = from.readUInt32LE();
  for (let at = SIZE_BYTES; at < size; ) {
    const start = at + HEAD_BYTES;
    const end = start + from.readUInt32LE(at + 5);
    take(from.readUInt32LE(at), from[at + 4] ?? 0, from.subarray(start, end));
    at = end;
  }
}

/**
 * Bytes that may be kept for longer than the message they came in. A part of it keeps all of it in memory: who sends a byte at a time would hold
 * what everybody else sent.
 */
export function kept(bytes: Buffer): Buffer {
  if (bytes.length * 2 > bytes.buffer.byteLength) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
