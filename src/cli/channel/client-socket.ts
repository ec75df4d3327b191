import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createWebSocketStream, WebSocket } from 'ws';
import {
  CHANNEL_PIECE_BYTES,
  CHANNEL_PROTOCOL,
  type ChannelControl,
  type ChannelStart,
  MAX_CHANNEL_FRAME_BYTES,
} from '../../core/contract/channel-messages.ts';
import { parseJson } from '../../core/model/values.ts';
import { readRejection } from '../../sdk/rejection.ts';
import type { Target } from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, Refused } from '../failure.ts';
import { unreachable } from '../transport.ts';

const CONNECT_MS = 10_000;
const MAX_REFUSAL_BYTES = 64 * 1024;

/** A connection into an instance. Both directions are no faster than they are taken. */
export class ClientSocket {
  readonly #socket: WebSocket;
  /** Bytes are output behind the byte of its stream, text is news. To be read once. */
  readonly incoming: AsyncIterable<Buffer | string>;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    const stream = createWebSocketStream(socket, { readableObjectMode: true });
    stream.on('error', () => undefined);
    this.incoming = stream;
  }

  async say(message: ChannelStart | ChannelControl): Promise<void> {
    await this.#send(JSON.stringify(message));
  }

  async send(bytes: Buffer): Promise<void> {
    for (let from = 0; from < bytes.length; from += CHANNEL_PIECE_BYTES)
      await this.#send(bytes.subarray(from, from + CHANNEL_PIECE_BYTES));
  }

  close(): void {
    this.#socket.close(1000);
  }

  #send(frame: Buffer | string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(frame, { binary: typeof frame !== 'string' }, (error) =>
        error == null ? resolve() : reject(error),
      );
    });
  }
}

export async function openSocket(
  target: Target,
  name: string,
  instance: string | undefined,
): Promise<ClientSocket> {
  const url = new URL(`${target.server}/api/v1/deployments/${encodeURIComponent(name)}/exec`);
  if (instance !== undefined) url.searchParams.set('instance', instance);
  const socket = new WebSocket(url.href.replace(/^http/, 'ws'), CHANNEL_PROTOCOL, {
    headers: {
      'user-agent': 'berth-cli',
      ...(target.token === undefined ? {} : { authorization: `Bearer ${target.token}` }),
      ...(target.tenant === undefined ? {} : { 'x-tenant-id': target.tenant }),
    },
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_CHANNEL_FRAME_BYTES,
    perMessageDeflate: false,
    ...(target.caFile === undefined ? {} : { ca: readFileSync(target.caFile) }),
  });
  // Before it is open: nothing may be missed.
  const opened = new ClientSocket(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', (error) => reject(unreachable(target, error)));
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      refusalOf(target, response).then(reject, reject);
    });
  });
  return opened;
}

async function refusalOf(target: Target, response: IncomingMessage): Promise<Error> {
  let text = '';
  for await (const piece of response.setEncoding('utf8')) {
    text += String(piece);
    if (text.length > MAX_REFUSAL_BYTES) break;
  }
  const status = response.statusCode ?? 0;
  const record = readRejection(parseJson(text));
  if (record !== undefined) return new Refused(record, status);
  return new Failure(`${target.server} answered ${status}, but not in the words of a control plane`, {
    exitCode: EXIT.unreachable,
    advice: ['A proxy in between has to let WebSockets pass.'],
  });
}
