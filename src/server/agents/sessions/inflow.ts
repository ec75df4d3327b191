import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../../clock.ts';
import { FrameCount } from './frame-count.ts';
import { MessageRate, type Rate } from './message-rate.ts';

const MIB = 2 ** 20;
/** Of whatever kind and size, pings and fragments included: each costs a turn of the loop. */
const FRAMES: Rate = { perSecond: 4000, burst: 8000 };
/** Logs and what commands print. Copies of volumes have connections of their own. */
const BYTES: Rate = { perSecond: 16 * MIB, burst: 32 * MIB };
/** What is made of many parts, as reports are, takes far longer to read than text of the same length. */
const PARTS: Rate = { perSecond: 2 * MIB, burst: 16 * MIB };
/** An agent that has sent more frames than it may for so long, although it was held back, does so on purpose. */
const ENDED_AFTER_MS = 5000;
/** A session read for this long without debt has kept to its share. */
const CAUGHT_UP_MS = 1000;

/**
 * What one agent may send. It is not dropped but left unread in its socket, until what came before is paid for; the agent notices by
 * its own buffers, as with any slow network. Counted where bytes come in, so that nothing is free.
 */
export class Inflow {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #onExcess: () => void;
  readonly #count = new FrameCount();
  readonly #frames: MessageRate;
  readonly #bytes: MessageRate;
  readonly #parts: MessageRate;
  #owesSinceMs: number | undefined;
  #readSinceMs = 0;
  #paidMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #holds = 0;

  /** `raw` is the connection under the socket; to be made before anything was read from it. */
  constructor(socket: WebSocket, raw: Duplex, clock: Clock, onExcess: () => void) {
    this.#socket = socket;
    this.#clock = clock;
    this.#onExcess = onExcess;
    this.#frames = new MessageRate(FRAMES, clock);
    this.#bytes = new MessageRate(BYTES, clock);
    this.#parts = new MessageRate(PARTS, clock);
    raw.prependListener('data', (chunk: Buffer) => this.#arrived(chunk));
    socket.once('close', () => clearTimeout(this.#timer));
  }

  /** A message whose reading costs by its parts. */
  parts(bytes: number): void {
    this.#pay(this.#parts.spend(bytes));
  }

  /** Nothing more is read until the returned function is called. */
  hold(): () => void {
    this.#holds += 1;
    this.#apply();
    return () => {
      this.#holds -= 1;
      this.#apply();
    };
  }

  #arrived(chunk: Buffer): void {
    const now = this.#clock.monotonicMs();
    // Counted from when it was read again: that this process was late is not to its credit.
    if (now - this.#readSinceMs > CAUGHT_UP_MS) this.#owesSinceMs = undefined;
    const owedMs = this.#frames.spend(this.#count.take(chunk));
    if (owedMs > 0) {
      this.#owesSinceMs ??= now;
      if (now - this.#owesSinceMs > ENDED_AFTER_MS) {
        this.hold();
        this.#onExcess();
        return;
      }
    }
    this.#pay(Math.max(owedMs, this.#bytes.spend(chunk.length)));
  }

  #pay(inMs: number): void {
    if (inMs <= 0) return;
    this.#paidMs = Math.max(this.#paidMs, this.#clock.monotonicMs() + inMs);
    this.#apply();
  }

  #apply(): void {
    const waitMs = this.#paidMs - this.#clock.monotonicMs();
    clearTimeout(this.#timer);
    if (this.#holds === 0 && waitMs <= 0) {
      if (!this.#socket.isPaused) return;
      this.#readSinceMs = this.#clock.monotonicMs();
      this.#socket.resume();
      return;
    }
    if (!this.#socket.isPaused) this.#socket.pause();
    if (waitMs > 0) this.#timer = setTimeout(() => this.#apply(), Math.ceil(waitMs)).unref();
  }
}
