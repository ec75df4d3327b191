import { Duplex } from 'node:stream';
import {
  FRAME,
  type FrameSender,
  kept,
  MOST_BYTES_PER_CHARACTER,
  TAKEN_STEP_BYTES,
  WINDOW_BYTES,
} from './frames.ts';

interface End {
  readonly address: string;
  readonly port: number;
}

export interface Ends {
  readonly remote: End;
  readonly local: End;
}

/** As sockets of Node say it. */
const canceled = (): Error => Object.assign(new Error('write ECANCELED'), { code: 'ECANCELED' });

type Done = (error?: Error | null) => void;

interface Chunk {
  readonly chunk: Buffer | string;
  readonly encoding: BufferEncoding;
}

/**
 * A connection that a thread holds, as the HTTP server meets it: what was inside of TLS, with the address of the client, and of a socket what
 * servers ask of one.
 */
export class RelayedSocket extends Duplex {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly remoteFamily: string;
  readonly localAddress: string;
  readonly localPort: number;
  /** How the framework knows HTTPS. */
  readonly encrypted = true;
  readonly connecting = false;
  bytesRead = 0;
  /** Set by the HTTP server while it reads requests from this. */
  parser: unknown = undefined;
  /** While it is set, nobody destroys it. */
  isSpared = false;
  readonly #id: number;
  readonly #link: FrameSender;
  readonly #forget: () => void;
  /** Received, and the thread was not told yet. */
  #untold = 0;
  /** Sent, and the client has not taken it. */
  #sent = 0;
  /** To be sent when the client has taken more, and who waits for that. */
  #unsent: Buffer[] = [];
  #written: Done | undefined;
  #isOver = false;
  #idleMs = 0;
  #usedMs = performance.now();
  /** Since `usedMs`: a clock read for each request would cost more than it tells. */
  #isUsed = false;

  constructor(id: number, { remote, local }: Ends, link: FrameSender, forget: () => void) {
    super({ allowHalfOpen: true, highWaterMark: WINDOW_BYTES, decodeStrings: false });
    this.#id = id;
    this.#link = link;
    this.#forget = forget;
    this.remoteAddress = remote.address;
    this.remotePort = remote.port;
    this.remoteFamily = remote.address.includes(':') ? 'IPv6' : 'IPv4';
    this.localAddress = local.address;
    this.localPort = local.port;
  }

  receive(bytes: Buffer): void {
    if (this.destroyed || this.readableEnded) return;
    this.#isUsed = true;
    this.bytesRead += bytes.length;
    this.#untold += bytes.length;
    if (this.push(this.#isReadAtOnce ? bytes : kept(bytes))) this.#tell();
  }

  /** The HTTP server makes texts of a head and copies of a body before `push` returns. */
  get #isReadAtOnce(): boolean {
    return (
      this.parser !== undefined &&
      this.parser !== null &&
      this.readableFlowing === true &&
      this.readableLength === 0
    );
  }

  receiveEnd(): void {
    if (!this.destroyed) this.push(null);
  }

  /** The client has taken so many bytes. */
  receiveTaken(count: number): void {
    this.#isUsed = true;
    this.#sent -= count;
    const isUntold = this.#written !== undefined && !this.writableNeedDrain;
    this.#send();
    // An answer that has more to write than this takes waits until it is empty, also where it gave this the rest only after the client had taken what
    // was here (Node 26): none of the writes was refused then, and nobody would say so.
    if (isUntold && this.writableLength === 0) this.emit('drain');
  }

  /** The connection is over, or the thread that held it. */
  receiveClose(): void {
    this.#isOver = true;
    this.destroy();
  }

  /** Of what it was answered something is here, or with the thread. The thread tells of the last few bytes only once it stops. */
  get isSending(): boolean {
    return this.writableLength > 0 || this.#sent > 0;
  }

  override destroy(error?: Error): this {
    return this.isSpared ? this : super.destroy(error);
  }

  /** Sockets of Node do the same by a timer each. */
  checkIdle(nowMs: number): void {
    if (this.#isUsed) this.#usedMs = nowMs;
    this.#isUsed = false;
    if (this.#idleMs === 0 || nowMs - this.#usedMs < this.#idleMs) return;
    this.#usedMs = nowMs;
    this.emit('timeout');
  }

  #tell(): void {
    if (this.#untold < TAKEN_STEP_BYTES) return;
    this.#link.sendTaken(this.#id, this.#untold);
    this.#untold = 0;
  }

  override _read(): void {
    this.#tell();
  }

  /** As much as the window takes; the rest when the client has taken that. */
  #send(): void {
    while (this.#sent < WINDOW_BYTES) {
      const [bytes] = this.#unsent;
      if (bytes === undefined) break;
      const part = bytes.subarray(0, WINDOW_BYTES - this.#sent);
      this.#sent += part.length;
      this.#link.send(this.#id, FRAME.data, part);
      if (part.length < bytes.length) this.#unsent[0] = bytes.subarray(part.length);
      else this.#unsent.shift();
    }
    if (this.#sent >= WINDOW_BYTES) return;
    const done = this.#written;
    this.#written = undefined;
    done?.();
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#isUsed = true;
    this.#add(chunk, encoding);
    this.#written = done;
    this.#send();
  }

  override _writev(chunks: readonly Chunk[], done: Done): void {
    this.#isUsed = true;
    for (const { chunk, encoding } of chunks) this.#add(chunk, encoding);
    this.#written = done;
    this.#send();
  }

  /** A text that the window takes is encoded where it is sent from. */
  #add(chunk: Buffer | string, encoding: BufferEncoding): void {
    if (chunk.length === 0) return;
    if (typeof chunk !== 'string') this.#unsent.push(chunk);
    else if (this.#unsent.length > 0 || this.#sent + chunk.length * MOST_BYTES_PER_CHARACTER > WINDOW_BYTES)
      this.#unsent.push(Buffer.from(chunk, encoding));
    else this.#sent += this.#link.sendText(this.#id, chunk, encoding);
  }

  override _final(done: Done): void {
    this.#link.send(this.#id, FRAME.end);
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    if (!this.#isOver) {
      // What the thread has is still sent, as the kernel sends what it has of a socket that is destroyed.
      if (this.writableLength === 0) this.#link.send(this.#id, FRAME.end);
      this.#link.send(this.#id, FRAME.close);
    }
    const written = this.#written;
    this.#unsent = [];
    this.#written = undefined;
    this.#forget();
    written?.(error ?? canceled());
    done(error);
  }

  /** Closed once everything was sent. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setTimeout(ms: number, listener?: () => void): this {
    this.#idleMs = ms;
    this.#usedMs = performance.now();
    if (listener !== undefined && ms === 0) this.removeListener('timeout', listener);
    else if (listener !== undefined) this.once('timeout', listener);
    return this;
  }

  /** Set by the thread, for all. */
  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}
