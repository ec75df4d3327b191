import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../core/model/values.ts';
import {
  eachFrame,
  FRAME,
  FrameSender,
  kept,
  NO_CONNECTION,
  TAKEN_STEP_BYTES,
  WINDOW_BYTES,
} from './frames.ts';

export interface ServedCertificate {
  readonly cert: string;
  readonly key: string;
  /** The same in every thread, so that a session is resumed by any of them. */
  readonly ticketKeys: Uint8Array;
}

export interface TlsThreadData extends ServedCertificate {
  readonly hosts: readonly string[];
  readonly port: number;
  readonly handshakeTimeoutMs: number;
  /** For what is left to send when the control plane has closed a connection. */
  readonly sendTimeoutMs: number;
}

export type ToTlsThread =
  | ArrayBuffer
  | { readonly kind: 'certificate'; readonly certificate: ServedCertificate }
  /** Accepts nothing more. */
  | { readonly kind: 'stop' }
  /** Ends when the last bytes are sent. */
  | { readonly kind: 'finish' };

export type FromTlsThread =
  | ArrayBuffer
  | { readonly kind: 'listening' }
  | { readonly kind: 'refused'; readonly message: string };

interface Held {
  readonly id: number;
  readonly raw: Socket;
  /** Once the handshake is done. */
  secure?: TLSSocket;
  /** Sent to the main thread and not taken. */
  sent: number;
  /** Taken by the client, and the main thread was not told yet. */
  untold: number;
}

/** As many as a listener without a thread would keep waiting: the main thread may be held for a while. */
const MOST_UNMET = 511;

/**
 * What was accepted, of the socket inside of TLS: Node says so by this property alone. Not by addresses: where a host has several, a client may
 * connect to two of them from one port.
 */
const rawOf = (secure: TLSSocket): unknown => ('_parent' in secure ? secure._parent : undefined);

/**
 * Accepts connections and does their TLS: handshakes, encryption, and nothing else. It reads no HTTP, knows no credential and decides nothing:
 * every byte inside of TLS goes to the main thread.
 */
class TlsThread {
  readonly #data: TlsThreadData;
  readonly #held = new Map<number, Held>();
  readonly #byRaw = new Map<unknown, Held>();
  readonly #servers: readonly Server[];
  readonly #link = new FrameSender((message) => parentPort?.postMessage(message, [message]));
  #ids = NO_CONNECTION;
  /** Accepted, and the main thread has not met them yet. */
  #unmet = 0;
  /** The main thread is told once so many bytes were taken. */
  #toldFrom = TAKEN_STEP_BYTES;

  constructor(data: TlsThreadData) {
    this.#data = data;
    this.#servers = data.hosts.map(() => this.#newServer());
  }

  async listen(): Promise<void> {
    const [first, ...others] = this.#servers.map((server, index) =>
      this.#listenAt(server, this.#data.hosts[index] ?? ''),
    );
    // The second address of localhost need not exist.
    await Promise.allSettled(others);
    await first;
  }

  #listenAt(server: Server, host: string): Promise<void> {
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port: this.#data.port, reusePort: true }, () => {
        // Accepting one failed, for want of descriptors: the next may go.
        server.on('error', () => undefined);
        resolve();
      });
    });
  }

  #newServer(): Server {
    const { cert, key, ticketKeys, handshakeTimeoutMs } = this.#data;
    const server = createServer({
      cert,
      key,
      ticketKeys: Buffer.from(ticketKeys),
      handshakeTimeout: handshakeTimeoutMs,
      ALPNProtocols: ['http/1.1'],
      noDelay: true,
    });
    server.on('connection', (raw) => this.#accept(raw));
    server.on('secureConnection', (secure) => this.#secured(secure));
    server.on('tlsClientError', (error: NodeJS.ErrnoException, secure) => {
      const held = this.#byRaw.get(rawOf(secure));
      if (held !== undefined)
        this.#link.send(held.id, FRAME.failed, Buffer.from(error.code ?? error.message));
      secure.destroy();
    });
    return server;
  }

  #accept(raw: Socket): void {
    const { remoteAddress, remotePort, localAddress, localPort } = raw;
    if (remoteAddress === undefined || this.#unmet >= MOST_UNMET) return void raw.destroy();
    this.#ids += 1;
    this.#unmet += 1;
    const held: Held = { id: this.#ids, raw, sent: 0, untold: 0 };
    this.#held.set(held.id, held);
    this.#byRaw.set(raw, held);
    const ends = `${remotePort} ${remoteAddress} ${localPort} ${localAddress}`;
    this.#link.send(held.id, FRAME.open, Buffer.from(ends));
    raw.on('error', () => raw.destroy());
    raw.once('close', () => this.#over(held));
  }

  /** Once for each: the socket inside of TLS and the one around it close one after the other. */
  #over(held: Held): void {
    this.#byRaw.delete(held.raw);
    if (this.#held.delete(held.id)) this.#link.send(held.id, FRAME.close);
  }

  #secured(secure: TLSSocket): void {
    const held = this.#byRaw.get(rawOf(secure));
    if (held === undefined) return void secure.destroy();
    held.secure = secure;
    secure.on('data', (bytes: Buffer) => {
      this.#link.send(held.id, FRAME.data, bytes);
      held.sent += bytes.length;
      if (held.sent >= WINDOW_BYTES) secure.pause();
    });
    secure.on('end', () => this.#link.send(held.id, FRAME.end));
    secure.on('error', () => secure.destroy());
    secure.once('close', () => this.#over(held));
  }

  receive(message: ArrayBuffer): void {
    eachFrame(message, (id, kind, bytes) => {
      if (id === NO_CONNECTION) this.#unmet -= bytes.readUInt32LE();
      const held = this.#held.get(id);
      if (held === undefined) return;
      if (kind === FRAME.data) this.#write(held, bytes);
      else if (kind === FRAME.end) held.secure?.end();
      else if (kind === FRAME.taken) this.#taken(held, bytes.readUInt32LE());
      else if (kind === FRAME.close) this.#close(held);
    });
  }

  /** Encrypted at once, unless something waits for the client to take more. */
  #write(held: Held, bytes: Buffer): void {
    const { secure } = held;
    const { length } = bytes;
    secure?.write(secure.writableLength > 0 ? kept(bytes) : bytes, () => {
      held.untold += length;
      this.#tell(held);
    });
  }

  #tell(held: Held): void {
    if (held.untold < this.#toldFrom) return;
    this.#link.sendTaken(held.id, held.untold);
    held.untold = 0;
  }

  #taken(held: Held, count: number): void {
    const { secure } = held;
    held.sent -= count;
    if (secure?.isPaused() === true && held.sent < WINDOW_BYTES) secure.resume();
  }

  #close(held: Held): void {
    const { secure, raw } = held;
    // The main thread knows: nothing is said of it again.
    this.#held.delete(held.id);
    this.#over(held);
    if (secure === undefined) return void raw.destroy();
    // Something was dropped before it came here: the answer is not whole either way.
    if (!secure.writableEnded) return void secure.destroy();
    const late = setTimeout(() => secure.destroy(), this.#data.sendTimeoutMs);
    secure.once('close', () => clearTimeout(late));
    // What still comes is for nobody.
    secure.removeAllListeners('data').pause();
    secure.destroySoon();
  }

  setCertificate({ cert, key, ticketKeys }: ServedCertificate): void {
    for (const server of this.#servers)
      server.setSecureContext({ cert, key, ticketKeys: Buffer.from(ticketKeys) });
  }

  stop(): void {
    for (const server of this.#servers) server.close();
    // A connection is closed when all of its answer is taken: told of every byte.
    this.#toldFrom = 1;
    for (const held of this.#held.values()) this.#tell(held);
  }
}

async function serve(data: TlsThreadData): Promise<void> {
  const thread = new TlsThread(data);
  parentPort?.on('message', (message: ToTlsThread) => {
    if (message instanceof ArrayBuffer) thread.receive(message);
    else if (message.kind === 'certificate') thread.setCertificate(message.certificate);
    else thread.stop();
    if (!(message instanceof ArrayBuffer) && message.kind === 'finish') parentPort?.close();
  });
  const say = (message: FromTlsThread): void => parentPort?.postMessage(message, []);
  try {
    await thread.listen();
    say({ kind: 'listening' });
  } catch (error) {
    say({ kind: 'refused', message: messageOf(error) });
  }
}

const data: TlsThreadData = workerData;
void serve(data);
