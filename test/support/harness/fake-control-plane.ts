/**
 * The control plane's side of the agent protocol, scripted by a test: registers one node, checks the signature of each
 * session, and keeps what the agent says. Nothing is decided here; the test says what is assigned and how questions end.
 */
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type AgentMessage,
  type AssignedInstance,
  type AssignedVolume,
  type Hello,
  MAX_FRAME_BYTES,
  PROTOCOL_VERSION,
  type Report,
  type Resolve,
  type Resolved,
  type ServerMessage,
  PONGS_FEATURE,
  signedText,
  type StreamData,
  type StreamEnd,
  type VolumeObservation,
} from '../../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation } from '../../../src/core/model/instance.ts';

export const JOIN_TOKEN = 'berth_join_test';
export const NODE_TOKEN = 'berth_node_test';
export const INSTALL_ID = 'inst-test';
export const TENANT = { id: '0190f2a4-0000-7000-8000-000000000001', slug: 'shop' };

const DEADLINE_MS = 20_000;

export type Answer =
  | {
      readonly ok: true;
      readonly environment: Record<string, string>;
      readonly registry?: { readonly username: string; readonly password: string };
      readonly files?: readonly { readonly path: string; readonly content: string }[];
    }
  | { readonly ok: false };

export class FakeControlPlane implements AsyncDisposable {
  readonly observations = new Map<string, InstanceObservation>();
  readonly reports: Report[] = [];
  readonly asked: string[][] = [];
  readonly resolves: Resolve[] = [];
  readonly streams = new Map<string, (StreamData | StreamEnd)[]>();
  registration: Readonly<Record<string, unknown>> | undefined;
  hello: Hello | undefined;
  epoch = 0;
  heartbeatMs = 500;
  silenceMs = 3_000;
  /** How secrets are answered; undefined: not at all. */
  secrets: Answer | undefined = { ok: true, environment: {} };
  /** Whether reports are answered with a lease. */
  leases = true;
  #generation = 0;
  #instances: readonly AssignedInstance[] = [];
  #volumes: readonly AssignedVolume[] = [];
  #assigned = false;
  #socket: WebSocket | undefined;
  #waiting = new Set<() => void>();
  #life: NodeJS.Timeout | undefined;
  readonly #http = createServer((request, response) => void this.#register(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES });

  #host = '127.0.0.1';

  static async start(host = '127.0.0.1'): Promise<FakeControlPlane> {
    const plane = new FakeControlPlane();
    plane.#host = host;
    await plane.listen(0);
    return plane;
  }

  async listen(port: number): Promise<void> {
    this.#http.removeAllListeners('upgrade');
    this.#http.on('upgrade', (request, socket, head) => {
      if (request.headers.authorization !== `Bearer ${NODE_TOKEN}` || request.url !== '/agent/v1/session') {
        socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n');
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (accepted) => this.#greet(accepted));
    });
    await new Promise<void>((resolve) => this.#http.listen(port, this.#host, resolve));
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://${this.#host}:${this.port}`;
  }

  get connected(): boolean {
    return this.#socket !== undefined;
  }

  /** Replaces the whole assignment and sends it, now and at each later session. */
  assign(
    instances: readonly AssignedInstance[],
    generation = this.#generation + 1,
    volumes: readonly AssignedVolume[] = [],
  ): void {
    this.#volumes = volumes;
    this.#generation = generation;
    this.#instances = instances;
    this.#assigned = true;
    this.#sendAssignment();
  }

  send(message: ServerMessage): void {
    this.#socket?.send(JSON.stringify(message));
  }

  /** Cuts the session without a word. */
  cut(): void {
    this.#socket?.terminate();
  }

  /** Says nothing more in this session, not even that it is alive. */
  mute(): void {
    clearInterval(this.#life);
    this.#socket = undefined;
  }

  async until<T>(what: string, condition: () => T | undefined | false, deadlineMs = DEADLINE_MS): Promise<T> {
    for (const deadline = performance.now() + deadlineMs; ; ) {
      const value = condition();
      if (value !== undefined && value !== false) return value;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) {
        throw new Error(
          `${what}: not in ${deadlineMs} ms; seen ${JSON.stringify([...this.observations.values()])}`,
        );
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(leftMs, 50));
        this.#waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  /** Of the newest report. */
  volume(id: string): VolumeObservation | undefined {
    return this.reports.at(-1)?.volumes?.find(({ volumeId }) => volumeId === id);
  }

  async untilPhase(
    id: string,
    phase: InstanceObservation['phase'],
    deadlineMs?: number,
  ): Promise<InstanceObservation> {
    const seen = (): InstanceObservation | false => {
      const observation = this.observations.get(id);
      return observation?.phase === phase && observation;
    };
    return await this.until(`${id} ${phase}`, seen, deadlineMs);
  }

  async down(): Promise<void> {
    this.cut();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#life);
    await this.down();
  }

  async #register(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    const answer = (status: number, content: unknown): void => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(content));
    };
    if (request.headers.authorization !== `Bearer ${JOIN_TOKEN}`) {
      answer(401, {
        code: 'join_token_invalid',
        field: 'Authorization',
        received: '(redacted, string, 20 bytes)',
        expected: 'an unused join token',
        why: 'the join token is not known',
        doc: `${this.url}/docs/errors/join_token_invalid`,
      });
      return;
    }
    this.registration = body;
    answer(201, { name: body['nodeName'], nodeToken: NODE_TOKEN });
  }

  #greet(socket: WebSocket): void {
    const nonce = randomBytes(32).toString('base64url');
    this.epoch += 1;
    const epoch = this.epoch;
    socket.send(JSON.stringify({ type: 'challenge', protocol: PROTOCOL_VERSION, nonce, epoch }));
    socket.on('message', (data) => {
      const message = JSON.parse((data as Buffer).toString('utf8')) as AgentMessage;
      if (message.type === 'hello') this.#welcome(socket, message, nonce, epoch);
      else this.#take(message);
      this.#notify();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.#socket === socket) this.#socket = undefined;
      this.#notify();
    });
  }

  #welcome(socket: WebSocket, hello: Hello, nonce: string, epoch: number): void {
    const key = createPublicKey({
      key: Buffer.from(String(this.registration?.['publicKey']), 'base64'),
      format: 'der',
      type: 'spki',
    });
    const signed = Buffer.from(signedText(nonce, epoch, hello.node));
    if (!verify(null, signed, key, Buffer.from(hello.signature, 'base64'))) return socket.close(4401);
    this.#socket = socket;
    this.hello = hello;
    const { heartbeatMs, silenceMs } = this;
    const tenant = { tenantId: TENANT.id, tenantSlug: TENANT.slug, installId: INSTALL_ID };
    this.send({ type: 'welcome', epoch, ...tenant, heartbeatMs, silenceMs });
    clearInterval(this.#life);
    const hearsPongs = hello.features?.includes(PONGS_FEATURE) === true;
    this.#life = setInterval(() => (hearsPongs ? socket.pong() : socket.ping()), heartbeatMs);
    if (this.#assigned) this.#sendAssignment();
  }

  #sendAssignment(): void {
    this.send({
      type: 'assignment',
      epoch: this.epoch,
      generation: this.#generation,
      instances: this.#instances,
      volumes: this.#volumes,
    });
  }

  #take(message: Exclude<AgentMessage, Hello>): void {
    switch (message.type) {
      case 'report':
        this.reports.push(message);
        if (message.full) this.observations.clear();
        for (const one of message.observations) this.observations.set(one.id, one);
        if (this.leases && message.beat !== undefined)
          this.send({ type: 'lease', epoch: this.epoch, beat: message.beat });
        return;
      case 'ask':
        this.asked.push([...message.instanceIds]);
        return;
      case 'ask-images':
      case 'credential-kept':
      case 'ingressGet':
      case 'ingressPut':
      case 'resolve-image':
        return;
      case 'resolve':
        this.resolves.push(message);
        if (this.secrets !== undefined) this.send(resolved(message.requestId, this.secrets));
        return;
      case 'data':
      case 'end':
        this.streams.set(message.streamId, [...(this.streams.get(message.streamId) ?? []), message]);
    }
  }

  #notify(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }
}

function resolved(requestId: string, answer: Answer): Resolved {
  if (answer.ok) return { type: 'resolved', requestId, ...answer };
  const message = 'resources/db: the secrets store answered 403';
  return { type: 'resolved', requestId, ok: false, reason: 'forbidden', message };
}
