import type { Readable } from 'node:stream';

/** A stream without an encoding: its pieces are bytes, which its type does not say. */
export function bytesOf(stream: Readable): AsyncIterable<Buffer> {
  return stream;
}
