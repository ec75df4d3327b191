import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { WebSocket, type ClientOptions } from 'ws';
import {
  type AgentMessage,
  type Challenge,
  type Hello,
  PROTOCOL_VERSION,
  type ServerMessage,
  signedText,
  type StreamOperation,
  type Welcome,
} from '../../../src/core/protocol/agent-protocol.ts';
import { VERSION } from '../../../src/server/version.ts';

export interface AgentKey {
  readonly privateKey: KeyObject;
  /** base64 of the SPKI form. */
  readonly publicKey: string;
}

export function agentKey(): AgentKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64') };
}

export const NODE_FACTS = {
  agentVersion: VERSION,
  engine: { kind: 'docker', version: '20.10.24' },
  platform: 'linux/amd64',
  capacity: { cpu: 4, memoryBytes: 8 * 2 ** 30 },
  labels: { disk: 'ssd' } as Readonly<Record<string, string>>,
} as const;

export interface AgentIdentity {
  readonly url: string;
  readonly node: string;
  readonly token: string;
  readonly key: AgentKey;
}

type Typed<T extends ServerMessage['type']> = Extract<ServerMessage, { readonly type: T }>;

const WAIT_MS = 10_000;

/** Speaks the agents' protocol by script: what it receives is kept in order and awaited by type. */
export class ScriptedAgent {
  readonly socket: WebSocket;
  readonly received: ServerMessage[] = [];
  readonly #identity: AgentIdentity;
  readonly #waiting = new Set<() => void>();
  readonly closed: Promise<number>;
  pings = 0;
  pongs = 0;
  epoch = 0;

  constructor(identity: AgentIdentity, options: ClientOptions = {}) {
    this.#identity = identity;
    this.socket = new WebSocket(`${identity.url.replace(/^http/, 'ws')}/agent/v1/session`, {
      headers: { authorization: `Bearer ${identity.token}` },
      perMessageDeflate: false,
      ...options,
    });
    this.closed = new Promise((resolve) =>
      this.socket.once('close', (code) => this.#wake(() => resolve(code))),
    );
    this.socket.on('error', () => undefined);
    this.socket.on('ping', () => {
      this.pings += 1;
    });
    this.socket.on('pong', () => {
      this.pongs += 1;
    });
    this.socket.on('message', (data: Buffer) => {
      this.#wake(() => this.received.push(JSON.parse(data.toString()) as ServerMessage));
    });
  }

  #wake(change: () => void): void {
    change();
    for (const wake of this.#waiting) wake();
  }

  /** The next message of a type that fits, also if it came before; each message is given out once. */
  async next<T extends ServerMessage['type']>(
    type: T,
    fits: (message: Typed<T>) => boolean = () => true,
  ): Promise<Typed<T>> {
    const deadline = performance.now() + WAIT_MS;
    for (;;) {
      const index = this.received.findIndex((message) => message.type === type && fits(message as Typed<T>));
      const found = this.received[index];
      if (found !== undefined) {
        this.received.splice(index, 1);
        return found as Typed<T>;
      }
      const left = deadline - performance.now();
      if (left <= 0 || this.socket.readyState >= WebSocket.CLOSING) {
        throw new Error(`no ${type} came; there are: ${JSON.stringify(this.received).slice(0, 500)}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  send(message: AgentMessage): void {
    this.socket.send(JSON.stringify(message));
  }

  hello({ nonce, epoch }: Challenge, changes: Partial<Hello> = {}): void {
    const { node, key } = this.#identity;
    const signature = sign(null, Buffer.from(signedText(nonce, epoch, node)), key.privateKey).toString(
      'base64',
    );
    this.send({
      type: 'hello',
      protocol: PROTOCOL_VERSION,
      node,
      epoch,
      signature,
      ...NODE_FACTS,
      ...changes,
    });
  }

  async welcome(changes: Partial<Hello> = {}): Promise<Welcome> {
    this.hello(await this.next('challenge'), changes);
    const welcome = await this.next('welcome');
    this.epoch = welcome.epoch;
    return welcome;
  }

  report(
    observations: Extract<AgentMessage, { readonly type: 'report' }>['observations'],
    generation = 1,
  ): void {
    this.send({ type: 'report', epoch: this.epoch, generation, full: true, observations });
  }

  /** Answers every question of a kind with one value, until the returned function is called. */
  answer(kind: StreamOperation['kind'], value: unknown, problem?: string): () => void {
    const listener = (data: Buffer): void => {
      const message = JSON.parse(data.toString()) as ServerMessage;
      if (message.type !== 'request' || message.operation.kind !== kind) return;
      const { streamId } = message;
      const error = { reason: 'stream_failed', message: problem ?? '' };
      if (problem === undefined) this.send({ type: 'data', streamId, value });
      this.send({ type: 'end', streamId, ...(problem !== undefined && { error }) });
    };
    this.socket.on('message', listener);
    return () => this.socket.off('message', listener);
  }

  close(): void {
    this.socket.close();
  }
}

/** How a refused upgrade was answered. */
export async function refusedUpgrade(
  identity: AgentIdentity,
  options: ClientOptions = {},
): Promise<{
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: Record<string, string>;
}> {
  const { socket } = new ScriptedAgent(identity, options);
  return new Promise((resolve, reject) => {
    socket.once('open', () => reject(new Error('the upgrade was accepted')));
    socket.once('unexpected-response', (_request, response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        socket.terminate();
        resolve({
          status: response.statusCode ?? 0,
          retryAfter: response.headers['retry-after'],
          body: JSON.parse(Buffer.concat(parts).toString()) as Record<string, string>,
        });
      });
    });
  });
}
