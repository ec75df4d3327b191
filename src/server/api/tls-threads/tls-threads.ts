import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import type { Server } from 'node:http';
import { createServer } from 'node:net';
import { extname } from 'node:path';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { ownFiles } from '../../own-files.ts';
import { threadHeap } from '../../thread-heaps.ts';
import { eachFrame, FRAME, FrameSender, NO_CONNECTION } from './frames.ts';
import { RelayedSocket } from './relayed-socket.ts';
import type { FromTlsThread, ServedCertificate, TlsThreadData, ToTlsThread } from './tls-thread.ts';

interface TlsThreadSettings {
  readonly threads: number;
  readonly host: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  readonly handshakeTimeoutMs: number;
  readonly sendTimeoutMs: number;
}

const TICKET_KEYS_BYTES = 48;
/** Connections past their time are looked for this often. */
const IDLE_CHECK_MS = 250;
const MAX_RESTART_MS = 5000;
const LAST_BYTES_MS = 1000;
const LAST_REQUESTS_CHECK_MS = 20;
/** A thread that lasted so long begins with short delays again. */
const SOUND_MS = 10_000;
/** JavaScript of a thread: some 6 KB for each connection. Bytes on their way are outside of it, and bounded by the windows. */
const HEAP_MIB = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 8 } as const;

interface Running {
  readonly worker: Worker;
  readonly sockets: ReadonlyMap<number, RelayedSocket>;
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== 'localhost') return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Threads share a port, which another process of this user could then share as well: whether it is free is asked before. */
async function freePort(host: string, port: number): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return typeof address === 'object' && address !== null ? address.port : port;
}

/**
 * Threads that accept connections and do their TLS; the main thread goes on to read HTTP and to decide. What is inside of TLS comes as bytes, so
 * that limits, timeouts, refusals, streams and WebSockets are those of the one server that they are handed to.
 */
export class TlsThreads {
  readonly #settings: TlsThreadSettings;
  readonly #server: Server;
  readonly #log: Logger;
  readonly #running = new Set<Running>();
  readonly #idle: NodeJS.Timeout;
  #data: TlsThreadData | undefined;
  #closing = false;
  #delayMs = 0;
  restarts = 0;
  failedHandshakes = 0;

  constructor(settings: TlsThreadSettings, server: Server, log: Logger) {
    this.#settings = settings;
    this.#server = server;
    this.#log = log;
    const closeIdle = server.closeIdleConnections.bind(server);
    server.closeIdleConnections = () => this.#closeIdle(closeIdle);
    this.#idle = setInterval(() => this.#checkIdle(), IDLE_CHECK_MS).unref();
  }

  get running(): number {
    return this.#running.size;
  }

  /** Resolves with the port when every thread listens. */
  async listen(): Promise<number> {
    const { threads, host, cert, key, handshakeTimeoutMs, sendTimeoutMs } = this.#settings;
    const hosts = await addressesOf(host);
    const port = await freePort(hosts[0] ?? host, this.#settings.port);
    const ticketKeys = randomBytes(TICKET_KEYS_BYTES);
    createSecureContext({ cert, key });
    this.#data = { hosts, port, cert, key, ticketKeys, handshakeTimeoutMs, sendTimeoutMs };
    // Otherwise Node would not look for connections that are past their time.
    this.#server.emit('listening');
    await Promise.all(Array.from({ length: threads }, () => this.#start(this.#data)));
    return port;
  }

  /** Of every thread; throws when it cannot be used. */
  setSecureContext({ cert, key }: { readonly cert: string; readonly key: string }): void {
    createSecureContext({ cert, key });
    const certificate: ServedCertificate = { cert, key, ticketKeys: randomBytes(TICKET_KEYS_BYTES) };
    if (this.#data !== undefined) this.#data = { ...this.#data, ...certificate };
    for (const { worker } of this.#running) post(worker, { kind: 'certificate', certificate });
  }

  /** No further connection is accepted; those that are there end as their requests do. */
  async end(): Promise<void> {
    this.#closing = true;
    for (const { worker } of this.#running) post(worker, { kind: 'stop' });
    while ([...this.#running].some(({ sockets }) => sockets.size > 0)) {
      // A connection is idle once its answer is taken, and is not asked to stay then.
      this.#server.closeIdleConnections();
      await delay(LAST_REQUESTS_CHECK_MS);
    }
    this.#server.close();
  }

  /** After `end`. A thread ends when clients have taken what was answered last, or after a while. */
  async close(): Promise<void> {
    clearInterval(this.#idle);
    // What waits for the end of this turn goes before.
    await turn();
    await Promise.all([...this.#running].map(({ worker }) => exit(worker)));
  }

  /** For Node a connection is idle once its answer was given, sent or not. */
  #closeIdle(closeIdle: () => void): void {
    const all = [...this.#running].flatMap(({ sockets }) => [...sockets.values()]);
    const sending = all.filter((socket) => socket.isSending);
    for (const socket of sending) socket.isSpared = true;
    closeIdle();
    for (const socket of sending) socket.isSpared = false;
  }

  #start(data: TlsThreadData | undefined): Promise<void> {
    ownFiles.require('a thread for TLS');
    const thread = `./tls-thread${extname(import.meta.url)}`;
    const worker = new Worker(new URL(thread, import.meta.url), {
      workerData: data,
      execArgv: [],
      resourceLimits: threadHeap(HEAP_MIB),
    });
    const sockets = new Map<number, RelayedSocket>();
    const running: Running = { worker, sockets };
    const link = new FrameSender((message) => worker.postMessage(message, [message]));
    const since = performance.now();
    return new Promise((resolve, reject) => {
      let cause: unknown = new Error('a thread for TLS ended');
      worker.on('message', (message: FromTlsThread) => {
        if (message instanceof ArrayBuffer) this.#receive(message, sockets, link);
        else if (message.kind === 'listening') {
          this.#running.add(running);
          // A renewed certificate may have come while it started.
          if (this.#data !== undefined && this.#data !== data)
            post(worker, { kind: 'certificate', certificate: this.#data });
          if (this.#closing) post(worker, { kind: 'stop' });
          resolve();
        } else {
          cause = new Error(message.message);
          void worker.terminate();
        }
      });
      worker.on('error', (error) => {
        cause = error;
      });
      worker.on('exit', () => {
        const served = this.#running.delete(running);
        for (const socket of sockets.values()) socket.receiveClose();
        reject(cause);
        if (!served || this.#closing) return;
        this.#log.error(
          { err: cause },
          'a thread for TLS ended, and its connections with it; another is started',
        );
        if (performance.now() - since > SOUND_MS) this.#delayMs = 0;
        this.#replace();
      });
    });
  }

  #replace(): void {
    setTimeout(() => {
      if (!this.#closing) void this.#tryStart();
    }, this.#delayMs).unref();
    this.#delayMs = Math.min(MAX_RESTART_MS, this.#delayMs * 2 + 100);
  }

  async #tryStart(): Promise<void> {
    try {
      await this.#start(this.#data);
      this.restarts += 1;
    } catch (error) {
      if (this.#closing) return;
      this.#log.error({ err: error }, 'a thread for TLS could not be started; it is tried again');
      this.#replace();
    }
  }

  #receive(message: ArrayBuffer, sockets: Map<number, RelayedSocket>, link: FrameSender): void {
    let opened = 0;
    eachFrame(message, (id, kind, bytes) => {
      const socket = sockets.get(id);
      if (kind === FRAME.open) {
        opened += 1;
        this.#open(id, bytes.toString('latin1'), sockets, link);
      } else if (socket === undefined) return;
      else if (kind === FRAME.data) socket.receive(bytes);
      else if (kind === FRAME.taken) socket.receiveTaken(bytes.readUInt32LE());
      else if (kind === FRAME.end) socket.receiveEnd();
      else if (kind === FRAME.close) socket.receiveClose();
      else if (kind === FRAME.failed) this.#handshakeFailed(socket, bytes.toString());
    });
    if (opened > 0) link.sendTaken(NO_CONNECTION, opened);
  }

  #open(id: number, ends: string, sockets: Map<number, RelayedSocket>, link: FrameSender): void {
    const [port = '', address = '', localPort = '', localAddress = ''] = ends.split(' ');
    const remote = { address, port: Number(port) };
    const local = { address: localAddress, port: Number(localPort) };
    const socket = new RelayedSocket(id, { remote, local }, link, () => sockets.delete(id));
    sockets.set(id, socket);
    this.#server.emit('connection', socket);
  }

  #handshakeFailed({ remoteAddress: source }: RelayedSocket, cause: string): void {
    this.failedHandshakes += 1;
    this.#log.info({ source, cause }, 'a TLS handshake failed');
  }

  #checkIdle(): void {
    const now = performance.now();
    for (const { sockets } of this.#running) for (const socket of sockets.values()) socket.checkIdle(now);
  }
}

function post(worker: Worker, message: ToTlsThread): void {
  worker.postMessage(message, []);
}

async function exit(worker: Worker): Promise<void> {
  const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const late = setTimeout(() => void worker.terminate(), LAST_BYTES_MS);
  post(worker, { kind: 'finish' });
  await gone;
  clearTimeout(late);
}
