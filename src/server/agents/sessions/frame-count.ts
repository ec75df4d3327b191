const SHORT_HEADER = 2;
const MASK_BYTES = 4;

/** Counts the frames that begin in what comes from a WebSocket's peer, of any kind: only their headers are parsed. */
export class FrameCount {
  readonly #header: number[] = [];
  #payloadLeft = 0;

  /** What comes next is the head of a frame. */
  get isBetweenFrames(): boolean {
    return this.#payloadLeft === 0 && this.#header.length === 0;
  }

  take(chunk: Uint8Array): number {
    let frames = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#payloadLeft > 0) {
        const passed = Math.min(this.#payloadLeft, chunk.length - at);
        this.#payloadLeft -= passed;
        at += passed;
        continue;
      }
      this.#header.push(chunk[at] ?? 0);
      at += 1;
      if (this.#header.length < headerLength(this.#header)) continue;
      this.#payloadLeft = payloadLength(this.#header);
      this.#header.length = 0;
      frames += 1;
    }
    return frames;
  }
}

function headerLength([, second]: readonly number[]): number {
  if (second === undefined) return SHORT_HEADER;
  const short = second & 0x7f;
  const more = short === 127 ? 8 : short === 126 ? 2 : 0;
  return SHORT_HEADER + more + (second & 0x80 ? MASK_BYTES : 0);
}

function payloadLength(header: readonly number[]): number {
  const short = (header[1] ?? 0) & 0x7f;
  if (short < 126) return short;
  return header.slice(2, short === 126 ? 4 : 10).reduce((length, byte) => length * 256 + byte, 0);
}
