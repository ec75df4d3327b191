import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, getCACertificates } from 'node:tls';
import type { Pins } from './pins.ts';
import { tunnel } from './proxy.ts';

/** For the machine to answer: its first packet may be lost twice. */
const REACH_DEADLINE_MS = 4_000;
/** With the proof of who it is. */
const CONNECT_DEADLINE_MS = 10_000;

export class WrongCertificateError extends Error {
  override readonly name = 'WrongCertificateError';
}

/** After an error the socket is not looked at. */
type Connected = (error: Error | null, socket: Socket) => void;

/**
 * A connection for one request or WebSocket. With a pin, it is handed out only after the certificate has proved to be the
 * pinned one, so that no token ever reaches an impostor; a proxy on the way sees nothing but the name of the host.
 */
export function dialer(server: URL, pins: Pins): (options: unknown, done: Connected) => undefined {
  return (_options, done) => {
    const host = server.hostname.replace(/^\[|\]$/g, '');
    const port = Number(server.port === '' ? (server.protocol === 'https:' ? 443 : 80) : server.port);
    const proxy = pins.way.proxyFor(server);
    if (proxy === undefined) {
      secured(server, pins, { host, port }, done);
      return;
    }
    const socket = tunnel(proxy, host, port, (error) => {
      clearTimeout(timer);
      if (error === undefined) secured(server, pins, { socket, host }, done);
      else done(error, socket);
    });
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection to ${server.host} in ${CONNECT_DEADLINE_MS} ms`)),
      CONNECT_DEADLINE_MS,
    );
  };
}

type Way =
  | { readonly host: string; readonly port: number }
  | { readonly host: string; readonly socket: Socket };

/** Over a connection that is there, or one that is made. */
function secured(server: URL, pins: Pins, way: Way, done: Connected): void {
  const { host } = way;
  const secure = server.protocol === 'https:';
  const made = 'socket' in way;
  const tls = secure
    ? connectTls({
        ...way,
        rejectUnauthorized: pins.caDigest === undefined,
        ...(pins.way.ca.length > 0 && { ca: [...getCACertificates('default'), ...pins.way.ca] }),
        ...serverName(host),
      })
    : undefined;
  const socket: Socket = tls ?? (made ? way.socket : connectPlain(way));
  const endAfter = (ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      const error = new Error(`no connection to ${server.host} in ${ms} ms`);
      socket.destroy(Object.assign(error, ms === REACH_DEADLINE_MS && { code: 'ETIMEDOUT' }));
    }, ms);
  const next = (ms: number): void => {
    clearTimeout(timer);
    timer = endAfter(ms);
  };
  // A name is asked for first, which may take a resolver's whole patience.
  let timer = endAfter(isIP(host) === 0 || made ? CONNECT_DEADLINE_MS : REACH_DEADLINE_MS);
  if (!made) {
    socket.once('lookup', () => next(REACH_DEADLINE_MS));
    socket.once('connect', () => next(CONNECT_DEADLINE_MS));
  }
  const fail = (error: Error): void => {
    clearTimeout(timer);
    done(error, socket);
  };
  const connected = (): void => {
    clearTimeout(timer);
    socket.off('error', fail);
    const problem = tls && pins.problem(tls, host);
    if (problem === undefined) {
      socket.setNoDelay(true);
      done(null, socket);
      return;
    }
    socket.on('error', () => {});
    socket.destroy();
    done(new WrongCertificateError(problem), socket);
  };
  socket.once('error', fail);
  if (made && tls === undefined) connected();
  else socket.once(secure ? 'secureConnect' : 'connect', connected);
}

function serverName(host: string): { readonly servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}
