import { connect, type Socket } from 'node:net';
import type { HostileRequest } from './hostile-requests.ts';
import type { Tokens } from './send.ts';

/** Ways of sending a request that an ordinary client has not. */
export const MANNERS = [
  'a byte at a time',
  'the head alone',
  'an answer that is not read',
  'a connection that is dropped',
  'twenty at once on one connection',
  'a body that is said to be gzip',
  'chunks of one byte',
  'an upgrade to a WebSocket',
  'a relay that nobody asked for',
] as const;
export type Manner = (typeof MANNERS)[number];

const HELD_MS = 2_000;
const DRIP_MS = 20;
const PIPELINED = 20;

function head(
  { who, method, path, headers }: HostileRequest,
  tokens: Tokens,
  more: readonly string[],
): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `${name}: ${one}`),
  );
  const credential = who === 'stranger' ? [] : [`Authorization: Bearer ${tokens[who]}`];
  const host = 'host' in headers ? [] : ['Host: localhost'];
  return [`${method} ${path} HTTP/1.1`, ...host, ...credential, ...lines, ...more, '', ''].join('\r\n');
}

function opened(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.once('connect', () => resolve(socket));
    socket.once('close', () => resolve(socket));
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Until the other side ends it, or for a while. */
async function held(socket: Socket, ms = HELD_MS): Promise<void> {
  const closed = new Promise<void>((resolve) => socket.once('close', resolve));
  await Promise.race([closed, pause(ms)]);
  socket.destroy();
}

async function drip(socket: Socket, text: string): Promise<void> {
  const until = performance.now() + HELD_MS;
  for (let at = 0; at < text.length && performance.now() < until && !socket.destroyed; at += 1) {
    socket.write(text[at] ?? '');
    await pause(DRIP_MS);
  }
  socket.destroy();
}

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** Sends a request in a manner, and waits until the connection is over. */
export async function sendIn(
  manner: Manner,
  url: string,
  request: HostileRequest,
  tokens: Tokens,
  nodeToken: string,
): Promise<void> {
  const socket = await opened(url);
  const body = request.body?.() ?? '';
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  switch (manner) {
    case 'a byte at a time':
      return drip(socket, head(request, tokens, [length]) + body);
    case 'the head alone':
      socket.write(head(request, tokens, ['Content-Length: 1000000']));
      return held(socket);
    case 'an answer that is not read':
      socket.pause();
      socket.write(head(request, tokens, [length]));
      socket.write(body);
      return held(socket);
    case 'a connection that is dropped':
      socket.write(head(request, tokens, [length]));
      socket.write(body, () => socket.destroy());
      return held(socket);
    case 'twenty at once on one connection':
      socket.resume();
      for (let count = 0; count < PIPELINED; count += 1) socket.write(head(request, tokens, [length]) + body);
      return held(socket);
    case 'a body that is said to be gzip':
      socket.resume();
      socket.write(head(request, tokens, ['Content-Encoding: gzip', 'Connection: close', length]) + body);
      return held(socket);
    case 'chunks of one byte':
      socket.resume();
      socket.write(head(request, tokens, ['Transfer-Encoding: chunked', 'Connection: close']));
      socket.write(`${'1\r\na\r\n'.repeat(50_000)}0\r\n\r\n`);
      return held(socket);
    case 'an upgrade to a WebSocket':
      socket.resume();
      socket.write(head({ ...request, method: 'GET', path: '/agent/v1/session' }, tokens, UPGRADE));
      return held(socket, 200);
    case 'a relay that nobody asked for':
      socket.resume();
      socket.write(
        [
          `GET /agent/v1/volumes/vol_x/copies/rogue-2?epoch=1&sequence=1&engine=rsync&takenAt=2026-01-01T00:00:00Z HTTP/1.1`,
          'Host: localhost',
          `Authorization: Bearer ${nodeToken}`,
          ...UPGRADE,
          '',
          '',
        ].join('\r\n'),
      );
      return held(socket, 200);
  }
}
