import type { OutputChunk, OutputStream } from './engine.ts';
import { EngineError } from './errors.ts';

const HEADER_BYTES = 8;
/** Engines cut output at 16 KiB (log entries) or 32 KiB (exec); a greater size means that this is no framed stream. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/**
 * Takes the engine's multiplexed output apart: `[stream, 0, 0, 0, size (big-endian 32 bits)]`, then the bytes. Chunks of the
 * connection and frames have nothing to do with each other; a frame's bytes are handed on as they come, never collected,
 * unless `whole` is asked for, because then each frame starts with a timestamp.
 */
export class FrameDecoder {
  readonly #whole: boolean;
  #header = Buffer.alloc(0);
  #stream: OutputStream = 'stdout';
  #remaining = 0;
  #parts: Buffer[] = [];

  constructor(options: { readonly whole: boolean }) {
    this.#whole = options.whole;
  }

  *push(chunk: Buffer): Generator<OutputChunk> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#remaining === 0) {
        rest = this.#readHeader(rest);
        continue;
      }
      const part = rest.subarray(0, this.#remaining);
      rest = rest.subarray(part.length);
      this.#remaining -= part.length;
      if (!this.#whole) {
        yield { stream: this.#stream, bytes: part };
        continue;
      }
      this.#parts.push(part);
      if (this.#remaining === 0) {
        yield { stream: this.#stream, bytes: Buffer.concat(this.#parts) };
        this.#parts = [];
      }
    }
  }

  /** True between frames: a stream that ends elsewhere was cut. */
  get atBoundary(): boolean {
    return this.#remaining === 0 && this.#header.length === 0;
  }

  #readHeader(chunk: Buffer): Buffer {
    const missing = HEADER_BYTES - this.#header.length;
    this.#header = Buffer.concat([this.#header, chunk.subarray(0, missing)]);
    if (this.#header.length === HEADER_BYTES) {
      const type = this.#header.readUInt8(0);
      const size = this.#header.readUInt32BE(4);
      if (type > 2 || size > MAX_FRAME_BYTES) throw new EngineError('output of the engine is not framed', 0);
      this.#stream = type === 2 ? 'stderr' : 'stdout';
      this.#remaining = size;
      this.#header = Buffer.alloc(0);
    }
    return chunk.subarray(missing);
  }
}
