import { messageOf } from '../../core/model/values.ts';
import { textOfFrame } from '../session/frame-text.ts';
import { bytesOf } from '../bytes.ts';
import { type KeyObject, sign } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { createWebSocketStream, WebSocket } from 'ws';
import { PROOF_HEADER, relayText } from '../../core/protocol/agent-protocol.ts';
import { dialer } from '../session/dial.ts';
import { fields, list, nonEmpty, text } from '../engine/fields.ts';
import { readJson } from '../session/enrol.ts';
import type { Identity } from '../session/identity.ts';
import { Pins } from '../session/pins.ts';
import type { CopyLink, OutgoingCopy, SendOutcome } from './copy-link.ts';

const HANDSHAKE_DEADLINE_MS = 10_000;
/** Without a byte taken or given in this time, a copy is given up. */
const STALLED_MS = 30_000;
/** From the last byte to the receiver's answer: it has to sync its disk. */
const CONFIRM_MS = 120_000;
const MAX_FRAME_BYTES = 2 ** 20;

/** The mark after the last byte: a stream that ends without it was cut. */
export const END_OF_COPY = 'end';

type Failure = Extract<SendOutcome, { readonly ok: false }>;

/** Copies through the control plane: WebSockets of their own beside the session, so that a large copy holds up no report. */
export class RelayLink implements CopyLink {
  readonly #token: () => string;
  readonly #server: () => string;
  readonly #prove: ((path: string) => string) | undefined;
  readonly #pins: Pins;

  /** `server`: the control plane that the session is with; `prove`: `relayProof` of that session. */
  constructor(
    identity: Identity,
    server: () => string = () => identity.server,
    prove?: (path: string) => string,
    pins = new Pins(identity.caDigest),
    token: () => string = () => identity.nodeToken,
  ) {
    this.#token = token;
    this.#server = server;
    this.#prove = prove;
    this.#pins = pins;
  }

  async send(copy: OutgoingCopy, stream: Readable, signal: AbortSignal): Promise<SendOutcome> {
    const { volumeId, volumeEpoch, target, header } = copy;
    const query = new URLSearchParams({
      epoch: String(volumeEpoch),
      ...Object.fromEntries(Object.entries(header).map(([key, value]) => [key, String(value)])),
    });
    const path = `/agent/v1/volumes/${encodeURIComponent(volumeId)}/copies/${encodeURIComponent(target)}?${query.toString()}`;
    const guard = new StallGuard(STALLED_MS);
    const socket = this.#dial(path, guard, signal);
    try {
      const answer = answerOf(socket);
      const refusal = await opened(socket);
      if (refusal !== undefined) return refusal;
      // A receiver that cannot use the copy says so before all of it is sent.
      const sent = (async () => {
        for await (const chunk of bytesOf(stream)) {
          await sendFrame(socket, chunk);
          guard.moved();
        }
        await sendFrame(socket, END_OF_COPY);
        guard.moved(CONFIRM_MS);
      })();
      const early = await Promise.race([answer, sent.then(() => undefined)]);
      return early ?? (await answer);
    } catch (error) {
      return failed('way', guard.stalled ? 'stalled' : 'connection_lost', messageOf(error));
    } finally {
      guard.stop();
      stream.destroy();
      socket.terminate();
    }
  }

  async *fetch(relayId: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const guard = new StallGuard(STALLED_MS);
    const socket = this.#dial(`/agent/v1/relay/${encodeURIComponent(relayId)}`, guard, signal);
    // Before it is open: nothing may be missed.
    const stream = createWebSocketStream(socket, { readableObjectMode: true });
    stream.on('error', () => {});
    try {
      const refusal = await opened(socket);
      if (refusal !== undefined) throw new Error(refusal.message);
      for await (const item of stream) {
        guard.moved();
        if (item === END_OF_COPY) return;
        if (!Buffer.isBuffer(item)) throw new Error('the copy was cut off');
        yield item;
      }
      throw new Error('the copy was cut off');
    } finally {
      guard.stop();
      socket.terminate();
    }
  }

  #dial(path: string, guard: StallGuard, signal: AbortSignal): WebSocket {
    const socket = this.open(path);
    const abort = (): void => socket.terminate();
    guard.onStall = abort;
    signal.addEventListener('abort', abort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', abort));
    return socket;
  }

  /** A connection to the control plane that proves the node's key. */
  open(path: string): WebSocket {
    const address = new URL(`${this.#server()}${path}`);
    const socket = new WebSocket(address.href.replace(/^http/, 'ws'), {
      headers: {
        Authorization: `Bearer ${this.#token()}`,
        ...(this.#prove && { [PROOF_HEADER]: this.#prove(`${address.pathname}${address.search}`) }),
      },
      createConnection: dialer(address, this.#pins),
      handshakeTimeout: HANDSHAKE_DEADLINE_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      followRedirects: false,
    });
    socket.on('error', () => {});
    return socket;
  }
}

export function relayProof(key: KeyObject, path: string, epoch: number, node: string): string {
  return sign(null, Buffer.from(relayText(path, epoch, node)), key).toString('base64');
}

class StallGuard {
  stalled = false;
  onStall: () => void = () => {};
  #timer: NodeJS.Timeout;

  constructor(limitMs: number) {
    this.#timer = setTimeout(() => this.#stall(), limitMs);
  }

  moved(limitMs = STALLED_MS): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stall(), limitMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #stall(): void {
    this.stalled = true;
    this.onStall();
  }
}

/** Resolves with the refusal, if it is one. */
async function opened(socket: WebSocket): Promise<Failure | undefined> {
  return await new Promise((resolve, reject) => {
    socket.once('open', () => resolve(undefined));
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      readJson(response).then((body) => {
        const record = fields(body);
        const code = nonEmpty(record['code']) ?? `status_${response.statusCode ?? 0}`;
        resolve(failed('way', code, nonEmpty(record['why']) ?? 'refused by the control plane'));
      }, reject);
    });
  });
}

async function answerOf(socket: WebSocket): Promise<SendOutcome> {
  return await new Promise((resolve) => {
    socket.once('message', (data) => resolve(decodeAnswer(textOfFrame(data))));
    socket.once('close', () => resolve(failed('way', 'connection_lost', 'the connection was closed')));
  });
}

function decodeAnswer(frame: string): SendOutcome {
  try {
    const answer = fields(JSON.parse(frame));
    if (answer['ok'] === true) return { ok: true };
    const where = answer['where'] === 'receiver' ? 'receiver' : 'way';
    const have = list(answer['have']).flatMap((one) => text(one) ?? []);
    return {
      ...failed(where, nonEmpty(answer['reason']) ?? 'unknown', nonEmpty(answer['message']) ?? ''),
      ...(Array.isArray(answer['have']) ? { have } : {}),
    };
  } catch {
    return failed('way', 'protocol_violated', 'the answer was not understood');
  }
}

function failed(where: Failure['where'], reason: string, message: string): Failure {
  return { ok: false, where, reason, message };
}

/** Resolves when the bytes have left for the network: no faster than its reader. */
async function sendFrame(socket: WebSocket, frame: Buffer | string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.send(frame, { binary: typeof frame !== 'string' }, (error) =>
      error == null ? resolve() : reject(error),
    );
  });
}
