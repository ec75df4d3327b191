import { type ClientHttp2Session, connect } from 'node:http2';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { RunningTimeout } from '../../clock.ts';
import { backOffMs } from './back-off.ts';
import { CODE, type TlsOptions, WireError } from './wire.ts';

// etcd ends a connection that pings more often than every 5 s (--grpc-keepalive-min-time) or without an open stream;
// a timer may fire a millisecond early, so the interval stays a little above it.
const KEEPALIVE_INTERVAL_MS = 5_100;
const KEEPALIVE_TIMEOUT_MS = 3_000;
// A few pings above the allowed rate are forgiven; etcd forgets them with the next answer it sends.
const MIN_PROBE_INTERVAL_MS = 1_500;
const PROBE_TIMEOUT_MS = 1_000;
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_BASE_MS = 50;
/** Everything that was sent meanwhile waits for it, and a start of both at once. */
const RECONNECT_MAX_MS = 100;
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const CONNECTION_WINDOW_BYTES = 32 * 1024 * 1024;

const REFUSED_TLS =
  'it ended the connection after the TLS handshake, as one does that asks for a certificate of its clients and is shown none, or another';

/** OpenSSL's own messages name places in its sources around their reason. */
function problemOf(error: Error & { readonly reason?: unknown }): string {
  return typeof error.reason === 'string' ? error.reason : error.message;
}

const unreachable = (message: string): WireError => new WireError(CODE.unavailable, message, false);

/** `http://host:port`, `https://host:port` or `host:port`, which is secure when TLS options are given. */
export function urlOf(endpoint: string, tls: TlsOptions | undefined): string {
  const match = /^(?:(https?):\/\/)?([^/\s]+:\d+)\/?$/.exec(endpoint);
  if (!match) throw new Error(`etcd endpoint "${endpoint}" is not http(s)://host:port`);
  return `${match[1] ?? (tls ? 'https' : 'http')}://${match[2]}`;
}

/** Keeps one HTTP/2 session to a member: made when first wanted, watched while in use, replaced when it fails. */
export class Connection {
  readonly #url: string;
  readonly #tls: TlsOptions | undefined;
  #session: ClientHttp2Session | undefined;
  #connecting: Promise<ClientHttp2Session> | undefined;
  #attempt: ClientHttp2Session | undefined;
  #failures = 0;
  #notBefore = 0;
  #problem = 'not connected';
  #streams = 0;
  #lastPing = 0;
  #pingTimer: RunningTimeout | undefined;
  #closed = false;

  constructor(endpoint: string, tls: TlsOptions | undefined) {
    this.#url = urlOf(endpoint, tls);
    this.#tls = tls;
  }

  /** The session if it is there now: the usual case, without a turn of the event loop. */
  get ready(): ClientHttp2Session | undefined {
    const session = this.#session;
    return session && !session.closed && !session.destroyed ? session : undefined;
  }

  /** Why there is no session, as far as is known. */
  get problem(): string {
    return this.#problem;
  }

  /** Fails at once while a failed attempt is recent; the caller may have another member to go to. */
  async connected(): Promise<ClientHttp2Session> {
    if (this.ready) return this.ready;
    if (this.#closed) throw unreachable('the store is closed');
    if (!this.#connecting && performance.now() < this.#notBefore) throw unreachable(this.#problem);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  streamOpened(): void {
    this.#streams += 1;
  }

  streamClosed(): void {
    this.#streams -= 1;
  }

  /**
   * A call was not answered in time. If the member hangs, the watches on this session hang too and are to move on
   * sooner than keepalive would tell; if it is only slow, it answers the ping.
   */
  probe(): void {
    if (!this.ready || performance.now() - this.#lastPing < MIN_PROBE_INTERVAL_MS) return;
    this.#ping(this.ready, PROBE_TIMEOUT_MS);
  }

  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#attempt?.destroy();
  }

  #socket(): Socket {
    const { hostname, port, protocol } = new URL(this.#url);
    const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
    const to = { host, port: Number(port || (protocol === 'https:' ? 443 : 80)) };
    if (protocol === 'http:') return connectPlain(to);
    const { serverName, ...material } = this.#tls ?? {};
    const servername = serverName ?? (isIP(host) === 0 ? host : undefined);
    return connectSecure({
      ...to,
      ...material,
      ALPNProtocols: ['h2'],
      ...(servername === undefined ? {} : { servername }),
    });
  }

  #connect(): Promise<ClientHttp2Session> {
    const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Session>();
    const socket = this.#socket();
    const serverName = this.#tls?.serverName;
    const session = connect(this.#url, {
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES },
      maxSessionMemory: 512,
      createConnection: () => socket,
      // Requests name it as their authority.
      ...(serverName === undefined ? {} : { servername: serverName }),
    });
    let established = false;
    /** Who ended a connection after its handshake and before its first word was the member. */
    let isRefusal = false;
    this.#attempt = session;
    // A session whose member refuses our certificate, which it does after our side of the handshake, neither fails nor closes by itself.
    socket.on('error', (error) => {
      this.#problem = problemOf(error);
      socket.destroy();
    });
    const timer = new RunningTimeout(() => {
      isRefusal = false;
      session.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS} ms`));
    }, CONNECT_TIMEOUT_MS);
    session.once('connect', () => {
      isRefusal = session.encrypted === true;
    });
    // The first that a member says: before that it may still refuse a connection whose handshake is over here.
    session.once('remoteSettings', () => {
      timer.clear();
      // The peer ended it in the same moment: `close` follows, and tells who waits.
      if (session.destroyed) return;
      session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
      established = true;
      this.#failures = 0;
      this.#problem = 'the connection was lost';
      this.#session = session;
      this.#keepAlive(session);
      resolve(session);
    });
    session.on('error', (error: NodeJS.ErrnoException) => {
      // What was said was not HTTP/2, and this side ended it.
      if (error.code?.startsWith('ERR_HTTP2_')) isRefusal = false;
      this.#problem = problemOf(error);
    });
    session.once('close', () => {
      timer.clear();
      if (!established) {
        if (isRefusal && !this.#closed && !this.#problem.endsWith(REFUSED_TLS))
          this.#problem = `${this.#problem}; ${REFUSED_TLS}`;
        this.#notBefore = performance.now() + backOffMs(this.#failures, RECONNECT_BASE_MS, RECONNECT_MAX_MS);
        this.#failures += 1;
      }
      reject(unreachable(this.#problem));
    });
    return promise;
  }

  /** TCP alone notices a silent peer after many minutes. */
  #keepAlive(session: ClientHttp2Session): void {
    const interval = setInterval(() => {
      if (this.#streams > 0) this.#ping(session, KEEPALIVE_TIMEOUT_MS);
    }, KEEPALIVE_INTERVAL_MS).unref();
    session.once('close', () => {
      clearInterval(interval);
      this.#pingAnswered();
    });
  }

  #ping(session: ClientHttp2Session, timeoutMs: number): void {
    if (session.destroyed || this.#pingTimer) return;
    this.#lastPing = performance.now();
    this.#pingTimer = new RunningTimeout(
      () => session.destroy(new Error(`no answer to a ping within ${timeoutMs} ms`)),
      timeoutMs,
    );
    session.ping(() => this.#pingAnswered());
  }

  #pingAnswered(): void {
    this.#pingTimer?.clear();
    this.#pingTimer = undefined;
  }
}
