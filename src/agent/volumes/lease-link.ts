import { createHmac, timingSafeEqual } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { lookup } from 'node:dns/promises';
import type { LeaseRepeat } from '../../core/protocol/agent-protocol.ts';
import { encodeLeaseDatagram, provenText, decodeLeaseDatagram } from '../../core/protocol/lease-datagram.ts';
import { machineMs } from './lease-file.ts';

const KEPT_BEATS = 100;

export interface LeaseLinkOptions {
  /** Of the control plane that gave the lease. */
  readonly host: string;
  readonly repeat: LeaseRepeat;
  readonly everyMs: number;
  /** A lease counts from when it was asked for. */
  readonly onLease: (sentMs: number) => void;
}

/**
 * Has the leases of a session repeated by the control plane's thread for them, also while the control plane is too busy to answer in
 * the session, and after the session was given up for its silence.
 */
export class LeaseLink {
  readonly #options: LeaseLinkOptions;
  readonly #key: Buffer;
  readonly #sentMs = new Map<number, number>();
  #socket: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #beat = 0;
  #ended = false;

  constructor(options: LeaseLinkOptions) {
    this.#options = options;
    this.#key = Buffer.from(options.repeat.key, 'base64url');
    void this.#begin().catch(() => this.end());
  }

  get id(): string {
    return this.#options.repeat.id;
  }

  async #begin(): Promise<void> {
    const { host, repeat, everyMs } = this.#options;
    const { address } = await lookup(host);
    if (this.#ended) return;
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    this.#socket = socket;
    socket.unref();
    // A port without a listener, or a network that is gone: the session gives leases as before.
    socket.on('error', () => undefined);
    socket.on('message', (bytes) => this.#take(bytes.toString('latin1')));
    socket.connect(repeat.port, address, () => {
      if (this.#ended) return;
      this.#ask();
      this.#timer = setInterval(() => this.#ask(), everyMs).unref();
    });
  }

  #proof(kind: 'ask' | 'lease', beat: number): Buffer {
    return createHmac('sha256', this.#key)
      .update(provenText({ kind, id: this.id, beat }))
      .digest();
  }

  #ask(): void {
    this.#beat += 1;
    const beat = this.#beat;
    this.#sentMs.set(beat, machineMs());
    this.#sentMs.delete(beat - KEPT_BEATS);
    const proof = this.#proof('ask', beat).toString('base64url');
    this.#socket?.send(encodeLeaseDatagram({ kind: 'ask', id: this.id, beat, proof }), () => undefined);
  }

  #take(text: string): void {
    const datagram = decodeLeaseDatagram(text);
    if (this.#ended || datagram?.kind !== 'lease' || datagram.id !== this.id) return;
    const expected = this.#proof('lease', datagram.beat);
    const shown = Buffer.from(datagram.proof, 'base64url');
    if (shown.length !== expected.length || !timingSafeEqual(shown, expected)) return;
    const sentMs = this.#sentMs.get(datagram.beat);
    if (sentMs !== undefined) this.#options.onLease(sentMs);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#timer);
    this.#socket?.close();
  }
}
