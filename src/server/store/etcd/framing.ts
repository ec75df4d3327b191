import { CODE, WireError } from './wire.ts';

/** gRPC puts five bytes before every message: a compression flag and the length. */
const PREFIX_BYTES = 5;
const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;

export function frame(message: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  message.copy(framed, PREFIX_BYTES);
  return framed;
}

function requireReadable(header: Buffer): number {
  const length = header.readUInt32BE(1);
  if (header[0] !== 0) throw new WireError(CODE.internal, 'etcd sent a compressed message', true);
  if (length > MAX_MESSAGE_BYTES) {
    throw new WireError(
      CODE.resourceExhausted,
      `etcd's answer of ${length} bytes is over ${MAX_MESSAGE_BYTES}`,
      true,
    );
  }
  return length;
}

/** Cuts what arrives into messages. Chunks are joined once per message, however many they are. */
export class Unframer {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = PREFIX_BYTES;

  /** Throws a WireError on what cannot be a message of etcd. */
  push(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#wanted) {
      const joined =
        this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks, this.#bytes);
      const whole = PREFIX_BYTES + requireReadable(joined);
      if (joined.length < whole) {
        this.#keep(joined, whole);
        return;
      }
      this.#keep(joined.subarray(whole), PREFIX_BYTES);
      onMessage(joined.subarray(PREFIX_BYTES, whole));
    }
  }

  #keep(rest: Buffer, wanted: number): void {
    this.#chunks = rest.length > 0 ? [rest] : [];
    this.#bytes = rest.length;
    this.#wanted = wanted;
  }
}
