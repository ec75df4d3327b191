import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Pins } from './pins.ts';

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
 * pinned one, so that no token ever reaches an impostor.
 */
export function dialer(server: URL, pins: Pins): (options: unknown, done: Connected) => undefined {
  return (_options, done) => {
    const secure = server.protocol === 'https:';
    const host = server.hostname.replace(/^\[|\]$/g, '');
    const port = Number(server.port === '' ? (secure ? 443 : 80) : server.port);
    const tls = secure
      ? connectTls({ host, port, rejectUnauthorized: pins.caDigest === undefined, ...serverName(host) })
      : undefined;
    const socket: Socket = tls ?? connectPlain({ host, port });
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
    let timer = endAfter(isIP(host) === 0 ? CONNECT_DEADLINE_MS : REACH_DEADLINE_MS);
    socket.once('lookup', () => next(REACH_DEADLINE_MS));
    socket.once('connect', () => next(CONNECT_DEADLINE_MS));
    const fail = (error: Error): void => {
      clearTimeout(timer);
      done(error, socket);
    };
    socket.once('error', fail);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
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
    });
  };
}

function serverName(host: string): { readonly servername?: string } {
  return /^[\d.]+$|:/.test(host) ? {} : { servername: host };
}
