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
/** A pong without content, masked: what quiet agents send, in a packet of its own. */
const PULSE_BYTES = 6;
const PULSE_HEAD: readonly [number, number] = [0x8a, 0x80];
/** More often it is a frame like any other. */
const PULSE_EVERY_MS = 100;
const NO_CONTENT = Buffer.alloc(0);
/** A session read for this long without debt has kept to its share. */
const CAUGHT_UP_MS = 1000;

/**
 * What one agent may send. It is not dropped but left unread in its socket, until what came before is paid for; the agent notices by
 * its own buffers, as with any slow network. Counted where bytes come in, so that nothing is free. Pulses, which are most of what agents at rest
 * send, are recognised here: the parser of WebSockets costs more than all that is done with one (docs/decisions/0119).
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
  #pulseMs = 0;
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
    const parsers = raw.listeners('data');
    const read = (chunk: Buffer): void => {
      if (this.#isPulse(chunk)) {
        socket.emit('pong', NO_CONTENT);
        return;
      }
      this.#arrived(chunk);
      for (const parse of parsers) Reflect.apply(parse, raw, [chunk]);
    };
    raw.removeAllListeners('data').on('data', read);
    // Before the WebSocket's own: it reads to the end what is left, and parses that itself.
    raw.prependListener('close', () => raw.off('data', read));
    socket.once('close', () => clearTimeout(this.#timer));
  }

  /** A control frame may come between any two frames, and has no order among messages. */
  #isPulse(chunk: Buffer): boolean {
    if (chunk.length !== PULSE_BYTES || chunk[0] !== PULSE_HEAD[0] || chunk[1] !== PULSE_HEAD[1])
      return false;
    const now = this.#clock.monotonicMs();
    if (now - this.#pulseMs < PULSE_EVERY_MS || !this.#count.isBetweenFrames) return false;
    this.#pulseMs = now;
    return true;
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
