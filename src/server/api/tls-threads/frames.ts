/**
 * What the thread of a connection and the main thread tell each other: frames, those of one turn of the event loop in one message. A message
 * by itself for each costs more than what it says.
 */
export const FRAME = {
  /** From the thread: a connection was accepted; its port and address. */
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

const HEAD_BYTES = 9;
const NO_BYTES = Buffer.alloc(0);

interface Waiting {
  readonly id: number;
  readonly kind: FrameKind;
  readonly bytes: Uint8Array;
}

export class FrameSender {
  readonly #post: (message: ArrayBuffer) => void;
  #waiting: Waiting[] = [];
  #size = 0;

  constructor(post: (message: ArrayBuffer) => void) {
    this.#post = post;
  }

  send(id: number, kind: FrameKind, bytes: Uint8Array = NO_BYTES): void {
    if (this.#waiting.push({ id, kind, bytes }) === 1) setImmediate(() => this.#flush());
    this.#size += HEAD_BYTES + bytes.length;
  }

  sendTaken(id: number, count: number): void {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32LE(count);
    this.send(id, FRAME.taken, bytes);
  }

  #flush(): void {
    const message = new ArrayBuffer(this.#size);
    const into = Buffer.from(message);
    let at = 0;
    for (const { id, kind, bytes } of this.#waiting) {
      into.writeUInt32LE(id, at);
      into.writeUInt8(kind, at + 4);
      into.writeUInt32LE(bytes.length, at + 5);
      into.set(bytes, at + HEAD_BYTES);
      at += HEAD_BYTES + bytes.length;
    }
    this.#waiting = [];
    this.#size = 0;
    this.#post(message);
  }
}

export interface Frame {
  readonly id: number;
  readonly kind: number;
  readonly bytes: Buffer;
}

export function* framesIn(message: ArrayBuffer): Generator<Frame> {
  const from = Buffer.from(message);
  for (let at = 0; at < from.length; ) {
    const start = at + HEAD_BYTES;
    const end = start + from.readUInt32LE(at + 5);
    yield { id: from.readUInt32LE(at), kind: from.readUInt8(at + 4), bytes: from.subarray(start, end) };
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
