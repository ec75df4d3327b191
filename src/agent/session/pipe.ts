import { setTimeout as pause } from 'node:timers/promises';
import type { StreamData } from '../../core/protocol/agent-protocol.ts';

export type Payload = Omit<StreamData, 'type' | 'streamId'>;

const WINDOW_BYTES = 256 * 1024;
const CHUNK_BYTES = 32 * 1024;
const GATHER_MS = 20;
const CROWDED_MS = 10;

export interface PipeOptions {
  readonly windowBytes: number;
  /** What matters more would be queued behind it. */
  readonly isCrowded: () => boolean;
}

/**
 * The sending end of one stream. No more is in flight than the reader granted; a `write` waits for credit, and with it the
 * reading of the engine, so that a slow reader costs no memory. Bytes are those of the text, of the binary chunk before
 * its encoding, or of the JSON of a value.
 */
export class Pipe {
  readonly #send: (payload: Payload) => void;
  readonly #end = new AbortController();
  readonly #windowBytes: number;
  readonly #isCrowded: () => boolean;
  #credit: number;
  #waiting: (() => void) | undefined;
  #gathered = '';
  #channel: StreamData['channel'];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(send: (payload: Payload) => void, options: Partial<PipeOptions> = {}) {
    this.#send = send;
    this.#windowBytes = options.windowBytes ?? WINDOW_BYTES;
    this.#credit = this.#windowBytes;
    this.#isCrowded = options.isCrowded ?? (() => false);
  }

  get signal(): AbortSignal {
    return this.#end.signal;
  }

  abort(): void {
    clearTimeout(this.#timer);
    this.#end.abort(new Error('the reader has gone'));
    this.#waiting?.();
  }

  grant(bytes: number): void {
    this.#credit = Math.min(this.#credit + bytes, this.#windowBytes);
    this.#waiting?.();
  }

  async write(payload: Payload): Promise<void> {
    const bytes = sizeOf(payload);
    // Readers give credit back in pieces, so all of it may never be there at once: a large value goes at half of it.
    const needed = Math.min(bytes, this.#windowBytes / 2);
    while (this.#credit < needed && !this.signal.aborted) {
      await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
    while (this.#isCrowded() && !this.signal.aborted) await pause(CROWDED_MS);
    this.signal.throwIfAborted();
    this.#credit -= bytes;
    this.#send(payload);
  }

  /** Gathers lines of one channel for a moment: a message for each would cost more than the text. */
  async writeText(text: string, channel: 'stdout' | 'stderr'): Promise<void> {
    if (this.#channel !== channel || this.#gathered.length + text.length > CHUNK_BYTES) await this.flush();
    this.#channel = channel;
    this.#gathered += text;
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), GATHER_MS);
  }

  /** In order: one at a time, so that a flush by the clock and one by size do not cross. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#gathered;
    const channel = this.#channel;
    this.#gathered = '';
    if (text === '' || channel === undefined) return this.#flushing;
    this.#flushing = this.#writeAfter(this.#flushing, text, channel);
    return this.#flushing;
  }

  async #writeAfter(
    before: Promise<void>,
    text: string,
    channel: Payload['channel'] & string,
  ): Promise<void> {
    await before;
    for (const part of this.parts(Buffer.from(text)))
      await this.write({ text: part.toString('utf8'), channel });
  }

  *parts(bytes: Buffer): Generator<Buffer> {
    for (let from = 0; from < bytes.length; ) {
      const to = characterEnd(bytes, Math.min(bytes.length, from + CHUNK_BYTES));
      yield bytes.subarray(from, to);
      from = to;
    }
  }
}

/** The last place at or before `limit` that does not fall inside a UTF-8 character. */
function characterEnd(bytes: Buffer, limit: number): number {
  if (limit >= bytes.length) return bytes.length;
  for (let at = limit; at > limit - 4 && at > 0; at -= 1) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  }
  return limit;
}

function sizeOf({ text, base64, value }: Payload): number {
  if (text !== undefined) return Buffer.byteLength(text);
  if (base64 !== undefined) return Math.floor((base64.length * 3) / 4);
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}
