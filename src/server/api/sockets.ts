import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { type WebSocket, WebSocketServer } from 'ws';
import { MAX_CHANNEL_FRAME_BYTES } from '../../core/contract/channel-messages.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import { type Rejection, rejectionBody } from '../../core/rejections/rejection.ts';
import { CREDENTIAL_CHECK_MS } from './admit-request.ts';
import { answerUnderWay } from './late-requests.ts';
import { baseUrlOf } from './replies.ts';
import type { ApiReply, ApiRequest } from './request-parts.ts';
import type { Route, SocketReply } from './route.ts';

const http = process.getBuiltinModule('node:http');

const MAX_FRAGMENTS = 16;

const server = new WebSocketServer({
  noServer: true,
  maxPayload: MAX_CHANNEL_FRAME_BYTES,
  perMessageDeflate: false,
  clientTracking: false,
  maxFragments: MAX_FRAGMENTS,
  // A turn of the loop for each: what came together does not hold up what came from others.
  allowSynchronousEvents: false,
  // What is spoken is decided by the route; a client that asks for something else was refused.
  handleProtocols: (protocols) => protocols.values().next().value ?? false,
});

interface Waiting {
  readonly socket: Duplex;
  readonly head: Buffer;
}

const waiting = new WeakMap<IncomingMessage, Waiting>();

/**
 * An answer of HTTP on a connection that the server has let go; it is the last one there. Undefined: one before it is not over, and nothing takes turns there any
 * more, so the connection ends.
 */
export function detachedResponse(request: IncomingMessage, socket: Duplex): ServerResponse | undefined {
  socket.on('error', () => socket.destroy());
  if (answerUnderWay(request.socket) !== undefined) {
    socket.destroy();
    return undefined;
  }
  const response = new http.ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(request.socket);
  return response;
}

/** A request for a WebSocket goes the way of all requests; what refuses it is sent as an answer of HTTP, and ends the connection. */
export function routeUpgrade(
  app: FastifyInstance,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const response = detachedResponse(request, socket);
  if (response === undefined) return;
  waiting.set(request, { socket, head });
  response.once('finish', () => {
    if (waiting.has(request)) socket.end();
  });
  app.routing(request, response);
}

/** Before anything is looked up: a page of another site learns nothing. Browsers always say where they come from, programs need not. */
export function socketRejection(
  { socket: protocol }: Route,
  { headers, raw }: ApiRequest,
  baseUrl: string | undefined,
): Rejection | undefined {
  if (protocol === undefined) return undefined;
  const { origin } = headers;
  const hosts = [headers.host, ...(baseUrl === undefined ? [] : [new URL(baseUrl).host])];
  const isOwn = origin !== undefined && URL.canParse(origin) && hosts.includes(new URL(origin).host);
  if (origin === undefined ? headers.authorization === undefined : !isOwn)
    return reject('origin_forbidden', {
      field: 'Origin',
      received: received(origin),
      expected: 'the origin of the control plane itself, or an Authorization header and no Origin',
      why: 'A page of another site may not speak for the person who is signed in.',
    });
  const asked = headers['sec-websocket-protocol'];
  if (waiting.has(raw) && asked === protocol) return undefined;
  return reject('upgrade_required', {
    field: waiting.has(raw) ? 'Sec-WebSocket-Protocol' : 'Upgrade',
    received: received(waiting.has(raw) ? asked : headers.upgrade),
    expected: `a WebSocket of the subprotocol ${protocol}`,
    why: 'What is asked for is spoken over a WebSocket only.',
  });
}

/** Hands the connection over; the answer of HTTP is over with it. */
export function openSocket<R extends ApiReply>(
  request: ApiRequest,
  reply: R,
  result: SocketReply,
  settings: { readonly baseUrl: string | undefined; readonly credential: () => Rejection | undefined },
): R {
  const { raw } = request;
  const upgrade = waiting.get(raw);
  waiting.delete(raw);
  reply.hijack();
  if (upgrade === undefined) return reply;
  reply.raw.detachSocket(raw.socket);
  raw.socket.setTimeout(0);
  raw.socket.once('close', () => reply.raw.emit('close'));
  const baseUrl = baseUrlOf(request, settings.baseUrl);
  const words = (rejection: Rejection) => rejectionBody(rejection, baseUrl);
  server.handleUpgrade(raw, upgrade.socket, upgrade.head, (connection) => {
    connection.on('error', () => connection.terminate());
    void result.converse({ connection, words, departure: departureOf(connection, settings.credential) });
  });
  return reply;
}

/** Its reason is the rejection when the credential ended. */
function departureOf(connection: WebSocket, credential: () => Rejection | undefined): AbortSignal {
  const controller = new AbortController();
  const check = setInterval(() => {
    const ended = credential();
    if (ended !== undefined && isRejection(ended)) controller.abort(ended);
  }, CREDENTIAL_CHECK_MS);
  connection.once('close', () => {
    clearInterval(check);
    controller.abort();
  });
  return controller.signal;
}
