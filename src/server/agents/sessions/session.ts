import { randomBytes } from 'node:crypto';
import { WebSocket } from 'ws';
import type { ServerMessage, StreamOperation } from '../../../core/protocol/agent-protocol.ts';
import type { StreamPurpose } from '../../../core/contract/stream-budgets.ts';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { type Clock, RunningTimeout } from '../../clock.ts';
import { MessageRate } from './message-rate.ts';
import { nodeKey } from '../assignments/placed-instances.ts';
import { type AgentStream, AgentStreams } from '../streams/streams.ts';

/** An agent that does not read is cut off rather than buffered for. */
const MAX_BUFFERED_BYTES = 16 * 2 ** 20;
const MESSAGE_RATE = { perSecond: 200, burst: 2000 };
/** Close codes of our own; the reason is for the agent's log. */
const CLOSE_FAREWELL = 4000;
const CLOSE_GRACE_MS = 500;

export interface SessionIdentity {
  readonly tenantId: TenantId;
  readonly node: NodeName;
  readonly tokenId: string;
  readonly publicKey: string;
  readonly epoch: number;
  readonly remembersAnchors?: boolean;
  readonly usesNext?: boolean;
  /** Serves the ingress of its tenant. */
  readonly servesIngress?: boolean;
  /** A pong is enough to know that the control plane is there. */
  readonly hearsPongs?: boolean;
  /** Its pongs are heartbeats. */
  readonly sendsPulses?: boolean;
}

/** One welcomed connection of one node. */
export class AgentSession {
  readonly identity: SessionIdentity;
  readonly key: string;
  readonly streams = new AgentStreams();
  readonly rate: MessageRate;
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  heardMs: number;
  pingedMs: number;
  seenMs: number;
  /** Of the newest assignment that was sent; goes up within an epoch. */
  generation = 0;
  /** Of the content of that assignment, to leave out what says nothing new. */
  assignmentDigest = '';
  engineProblem: string | undefined;
  resolving = 0;

  constructor(socket: WebSocket, identity: SessionIdentity, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.identity = identity;
    this.key = nodeKey(identity.tenantId, identity.node);
    this.rate = new MessageRate(MESSAGE_RATE, clock);
    this.heardMs = clock.monotonicMs();
    this.pingedMs = this.heardMs;
    this.seenMs = clock.now().getTime();
  }

  get seenAt(): string {
    return new Date(this.seenMs).toISOString();
  }

  get open(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  heard(): void {
    this.heardMs = this.#clock.monotonicMs();
  }

  /** False: it was not sent; the agent's next session makes it good. */
  send(message: ServerMessage): boolean {
    return this.sendText(JSON.stringify(message));
  }

  sendText(text: string): boolean {
    return sendText(this.#socket, text);
  }

  /** Reports come anyway: where the agent takes it, nothing is asked of it. */
  signOfLife(nowMs = this.#clock.monotonicMs()): void {
    this.pingedMs = nowMs;
    if (!this.open) return;
    if (this.identity.hearsPongs === true) this.#socket.pong();
    else this.#socket.ping();
  }

  /**
   * Whether a ping is answered within the time. Nothing else proves that anybody is there: what an agent sent before it gave up the connection may come
   * later, when a network that was cut is there again.
   */
  answers(withinMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const asked = randomBytes(8);
      const settle = (alive: boolean): void => {
        timer.clear();
        this.#socket.off('pong', onPong);
        this.#socket.off('close', onClose);
        resolve(alive);
      };
      const onPong = (answer: Buffer): void => {
        if (asked.equals(answer)) settle(true);
      };
      const onClose = (): void => settle(false);
      // An answer that has arrived comes first, also where this process was held up.
      const timer = new RunningTimeout(onClose, withinMs);
      this.#socket.on('pong', onPong);
      this.#socket.on('close', onClose);
      if (this.open) this.#socket.ping(asked);
    });
  }

  stream(operation: StreamOperation, purpose?: StreamPurpose): AgentStream {
    return this.streams.open(operation, (message) => this.send(message), purpose);
  }

  farewell(code: string, message: string, retry: boolean): void {
    sayFarewell(this.#socket, code, message, retry);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  /** The control plane stops: the agent is to come back, here or to another one. */
  release(): void {
    this.#socket.close(1012, 'the control plane restarts');
  }
}

export function sendText(socket: WebSocket, text: string): boolean {
  if (socket.readyState !== WebSocket.OPEN) return false;
  if (socket.bufferedAmount + text.length > MAX_BUFFERED_BYTES) {
    socket.terminate();
    return false;
  }
  socket.send(text);
  return true;
}

/** Told why, then closed; an agent that does not complete the close is cut off. */
export function sayFarewell(socket: WebSocket, code: string, message: string, retry: boolean): void {
  sendText(socket, JSON.stringify({ type: 'farewell', code, message, retry } satisfies ServerMessage));
  socket.close(CLOSE_FAREWELL, code);
  setTimeout(() => socket.terminate(), CLOSE_GRACE_MS).unref();
}
