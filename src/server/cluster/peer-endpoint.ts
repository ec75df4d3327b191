import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import {
  type CopyAges,
  type HistoryQuestion,
  type PeerAnswer,
  type PeerQuestion,
  type PeerStreamLine,
  peerQuestion,
  peerStreamRequest,
  type SystemQuestion,
  systemQuestion,
} from '../../core/protocol/peer-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { ScalingView } from '../../core/model/scaling.ts';
import type { Dispatch } from '../agents/dispatch.ts';
import type { Measurements } from '../runtime/measurements.ts';
import type { PeerProofs, ProvenRequest } from './peer-proof.ts';

export interface PeerEndpointOptions {
  readonly proofs: PeerProofs;
  readonly dispatch: Pick<Dispatch, 'streamHere'>;
  readonly measurements: Measurements;
  readonly storeAnswers: () => Promise<boolean>;
  /** Told of the connection of a control plane that proved itself: it is none of anybody's. */
  readonly onProven: (socket: Socket) => void;
  /** What this process says of itself; a text: why not now. */
  readonly openSystem: (question: SystemQuestion) => SystemStream | string;
  readonly copyAges: (tenantId: TenantId, node: NodeName) => readonly CopyAges[];
  readonly scalingView: (tenantId: TenantId, deployment: string) => ScalingView | undefined;
  readonly history: (question: HistoryQuestion) => PeerAnswer<'history'>;
}

/** Server-sent events; `write` answers false when the reader is slow, and then `drained` is awaited. */
export interface SystemSink {
  write(piece: string | Uint8Array): boolean;
  drained(): Promise<void>;
  readonly signal: AbortSignal;
}
export type SystemStream = (sink: SystemSink) => Promise<void>;

const readSystemQuestion = frameReader(systemQuestion);
const readStreamRequest = frameReader(peerStreamRequest);
const readQuestion = frameReader(peerQuestion);

/** Answers other control planes with what only this process knows. Without a proof there is nothing here. */
export class PeerEndpoint {
  readonly #options: PeerEndpointOptions;

  constructor(options: PeerEndpointOptions) {
    this.#options = options;
  }

  /** What an agent that is connected here says. */
  async stream(proof: string | undefined, request: ProvenRequest, response: ServerResponse): Promise<void> {
    const asked = this.#asked(proof, request, response, readStreamRequest);
    const stream = asked && this.#options.dispatch.streamHere(asked.tenantId, asked.node, asked.operation);
    if (stream === undefined) {
      notHere(response);
      return;
    }
    response.on('error', () => undefined);
    response.once('close', () => stream.cancel());
    response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    response.flushHeaders();
    for await (const item of stream) {
      if (write(response, { item }) || response.destroyed) continue;
      await drained(response);
    }
    write(response, { end: stream.end ?? {} });
    response.end();
  }

  /** A reason is answered with 409, as text. */
  async system(proof: string | undefined, request: ProvenRequest, response: ServerResponse): Promise<void> {
    const asked = this.#asked(proof, request, response, readSystemQuestion);
    if (asked === undefined) {
      notHere(response);
      return;
    }
    const stream = this.#options.openSystem(asked);
    if (typeof stream === 'string') {
      response.writeHead(409, { 'content-type': 'text/plain; charset=utf-8' }).end(stream);
      return;
    }
    const gone = new AbortController();
    response.on('error', () => undefined);
    response.once('close', () => gone.abort());
    if (response.destroyed) gone.abort();
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.flushHeaders();
    await stream({
      write: (piece) => response.write(piece),
      drained: () => (response.writableNeedDrain ? drained(response) : Promise.resolve()),
      signal: gone.signal,
    });
    response.end();
  }

  async question(proof: string | undefined, request: ProvenRequest, response: ServerResponse): Promise<void> {
    const asked = this.#asked(proof, request, response, readQuestion);
    if (asked === undefined) {
      notHere(response);
      return;
    }
    const answer = await this.#answer(asked);
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(JSON.stringify(answer));
  }

  async #answer(asked: PeerQuestion): Promise<PeerAnswer<PeerQuestion['kind']> | null> {
    switch (asked.kind) {
      case 'store':
        return this.#options.storeAnswers();
      case 'usage':
        return this.#options.measurements.aged(asked.tenantId, asked.nodes);
      case 'copies':
        return this.#options.copyAges(asked.tenantId, asked.node);
      case 'scaling':
        return this.#options.scalingView(asked.tenantId, asked.deployment) ?? null;
      case 'history':
        return this.#options.history(asked);
    }
  }

  /** Undefined: without proof, or of another protocol version. */
  #asked<T>(
    proof: string | undefined,
    request: ProvenRequest,
    { socket }: ServerResponse,
    read: (body: string) => T | undefined,
  ): T | undefined {
    if (!this.#options.proofs.holds(proof, request)) return undefined;
    if (socket !== null) this.#options.onProven(socket);
    return read(request.body);
  }
}

/** Taken off again each time: a long stream waits thousands of times. */
async function drained(response: ServerResponse): Promise<void> {
  const done = new AbortController();
  const { signal } = done;
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } finally {
    done.abort();
  }
}

function notHere(response: ServerResponse): void {
  response.writeHead(404, { 'content-length': 0 }).end();
}

function write(response: ServerResponse, line: PeerStreamLine): boolean {
  return response.write(`${JSON.stringify(line)}\n`);
}
