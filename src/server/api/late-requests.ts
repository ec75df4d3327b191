import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LoopStalls } from './loop-stalls.ts';
import type { LatePart } from './refusals.ts';

const http = process.getBuiltinModule('node:http');

interface Terms {
  readonly headMs: number;
  /** With its head. */
  readonly requestMs: number;
}

type Refuse = (late: LatePart) => void;

interface Extended {
  readonly refuse: Refuse;
  readonly drop: () => void;
  /** The late one; undefined: its head has not come whole. */
  request: IncomingMessage | undefined;
  timer?: NodeJS.Timeout;
}

/** Whose body is on its way. Node does not tell, but keeps it here. */
function requestBeingRead(socket: Socket): IncomingMessage | undefined {
  const parser: unknown = 'parser' in socket ? socket.parser : undefined;
  const request = typeof parser === 'object' && parser !== null && 'incoming' in parser && parser.incoming;
  return request instanceof http.IncomingMessage && !request.complete ? request : undefined;
}

/** What the client waits for, or reads. */
export function answerUnderWay(socket: Socket): ServerResponse | undefined {
  const answer: unknown = '_httpMessage' in socket ? socket._httpMessage : undefined;
  return answer instanceof http.ServerResponse ? answer : undefined;
}

/** A refusal would be taken for the answer to another request, or for a part of one that has begun. */
function end(socket: Socket, request: IncomingMessage | undefined, refuse: Refuse): void {
  const answer = answerUnderWay(socket);
  if (answer?.req === request && answer?.headersSent !== true)
    refuse(request === undefined ? 'headers' : 'body');
  else socket.destroy();
}

/**
 * Connections whose request did not arrive in time. Node counts by the clock, and before it reads: of a process that was stopped, or
 * starved of its processor, requests would be called late that have been waiting for it. So a request has so much longer as the event
 * loop stood still during its time, at most the time of a head. Node tells of each request once, and no more of one that was extended.
 */
export class LateRequests {
  readonly #server: () => Server;
  readonly #terms: Terms;
  readonly #stalls: Pick<LoopStalls, 'within'>;
  readonly #extended = new Map<Socket, Extended>();
  readonly #onRequest = (request: IncomingMessage): void => {
    const extended = this.#extended.get(request.socket);
    // What follows the late one on its connection has its own time.
    if (extended === undefined || extended.request !== undefined) return;
    this.#follow(extended, request);
    this.#arm(request.socket, extended, this.#terms.requestMs - this.#terms.headMs);
  };
  /** From here on it is a session. */
  readonly #onUpgrade = ({ socket }: IncomingMessage): void => this.#extended.get(socket)?.drop();

  constructor(server: () => Server, terms: Terms, stalls: Pick<LoopStalls, 'within'>) {
    this.#server = server;
    this.#terms = terms;
    this.#stalls = stalls;
  }

  judge(socket: Socket, refuse: Refuse): void {
    // Of a request before this one on its connection.
    this.#extended.get(socket)?.drop();
    const { headMs, requestMs } = this.#terms;
    const request = requestBeingRead(socket);
    const stalledMs = this.#stalls.within(request === undefined ? headMs : requestMs);
    if (stalledMs === 0) end(socket, request, refuse);
    else this.#extend(socket, request, Math.min(headMs, stalledMs), refuse);
  }

  #extend(socket: Socket, request: IncomingMessage | undefined, ms: number, refuse: Refuse): void {
    if (this.#extended.size === 0)
      this.#server().prependListener('request', this.#onRequest).prependListener('upgrade', this.#onUpgrade);
    const drop = (): void => {
      if (this.#extended.get(socket) === extended) this.#forget(socket, extended);
    };
    const extended: Extended = { refuse, drop, request: undefined };
    this.#extended.set(socket, extended);
    socket.once('close', drop);
    if (request !== undefined) this.#follow(extended, request);
    this.#arm(socket, extended, ms);
  }

  #follow(extended: Extended, request: IncomingMessage): void {
    extended.request = request;
    request.once('close', extended.drop);
  }

  #arm(socket: Socket, extended: Extended, ms: number): void {
    clearTimeout(extended.timer);
    const timer = setTimeout(() => {
      // After what can be read now was read.
      setImmediate(() => {
        if (extended.timer !== timer || this.#extended.get(socket) !== extended) return;
        extended.drop();
        if (extended.request?.complete !== true) end(socket, extended.request, extended.refuse);
      });
    }, ms).unref();
    extended.timer = timer;
  }

  #forget(socket: Socket, { timer, drop, request }: Extended): void {
    clearTimeout(timer);
    socket.off('close', drop);
    request?.off('close', drop);
    this.#extended.delete(socket);
    if (this.#extended.size === 0)
      this.#server().off('request', this.#onRequest).off('upgrade', this.#onUpgrade);
  }
}
