import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { CATALOGUE } from '../../../core/rejections/catalogue.ts';
import { type Rejection, rejectionBody } from '../../../core/rejections/rejection.ts';

const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** A refused upgrade is answered as HTTP, with the same six-field record as everywhere. */
export function refuseUpgrade(socket: Duplex, rejection: Rejection, baseUrl: string): void {
  const status = rejection.status ?? CATALOGUE[rejection.code].status;
  const body = JSON.stringify(rejectionBody(rejection, baseUrl));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}`,
    'Connection: close',
    'Content-Type: application/json; charset=utf-8',
    'Cache-Control: no-store',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...(rejection.retryAfterSeconds === undefined ? [] : [`Retry-After: ${rejection.retryAfterSeconds}`]),
  ];
  socket.on('error', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

export function headerCount(request: IncomingMessage, name: string): number {
  return request.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}
