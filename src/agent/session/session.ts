import { messageOf } from '../../core/model/values.ts';
import { textOfFrame } from './frame-text.ts';
import { type KeyObject, sign } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import {
  type AgentMessage,
  type Assignment,
  type Cancel,
  type Challenge,
  type Credential,
  type Credit,
  type Farewell,
  type ImagesNeeded,
  type IngressMaterial,
  type Lease,
  type MeshChange,
  type MeshMap,
  MAX_FRAME_BYTES,
  type Resolved,
  type ServerMessage,
  signedText,
  SPOKEN,
  type StoreMark,
  type StreamRequest,
  type Verdict,
  type Welcome,
} from '../../core/protocol/agent-protocol.ts';
import { negotiated } from '../../core/protocol/releases.ts';
import { Addresses } from './addresses.ts';
import { dialer } from './dial.ts';
import { fields, nonEmpty } from '../engine/fields.ts';
import { readJson } from './enrol.ts';
import type { Identity } from './identity.ts';
import { type Log } from '../log.ts';
import type { NodeFacts } from './node-facts.ts';
import { Pins } from './pins.ts';
import type { WayOut } from './proxy.ts';
import { type Ended, isRefused, isUnreached, redialMs } from './redial.ts';
import { retryAfterMs } from './retry-after.ts';
import { decodeServerMessage } from './server-message.ts';

const HANDSHAKE_DEADLINE_MS = 10_000;
/** A session that lasted this long resets the back-off. */
const GOOD_SESSION_MS = 2_000;

export type SessionMessage =
  | Assignment
  | MeshMap
  | MeshChange
  | Lease
  | Verdict
  | Resolved
  | ImagesNeeded
  | IngressMaterial
  | StreamRequest
  | Credit
  | Cancel;

export interface SessionHandlers {
  /** After the time between `hello` and it. */
  onWelcome(welcome: Welcome, roundTripMs: number): void;
  /** Only between `onWelcome` and `onLost`, and only of the session's epoch. */
  onMessage(message: SessionMessage): void;
  onLost(): void;
}

export interface SessionOptions {
  readonly identity: Identity;
  readonly key: KeyObject;
  readonly facts: () => Promise<NodeFacts>;
  readonly handlers: SessionHandlers;
  /** Absent: straight. */
  readonly way?: WayOut;
  readonly log: Log;
  readonly random?: () => number;
  /** The control plane announced other addresses. */
  readonly onServers?: (servers: readonly string[]) => void;
  /** It gave a new token: kept when this resolves. Absent: the agent takes none. */
  readonly onCredential?: (token: string, previous: string) => Promise<void>;
  /** The token is refused: another one, if there is a way to it. */
  readonly onRefused?: () => Promise<string | undefined>;
  /** It announced other keys. */
  readonly onAnchors?: (anchors: readonly string[]) => void;
}

/** Why a connection ended, and how long the server asked to wait. */
interface Ending extends Ended {
  readonly reason: string;
  readonly farewell?: Farewell;
  readonly unauthenticated?: boolean;
}

/** One connection at a time, dialled again for ever until the control plane says farewell or `run` is aborted. */
export class Session {
  readonly #options: SessionOptions;
  readonly #addresses: Addresses;
  readonly pins: Pins;
  #token: string;
  /** Tried when the other is refused. */
  #otherToken: string | undefined;
  #swaps = 0;
  #wasRefused = false;
  #socket: WebSocket | undefined;
  #welcome: Welcome | undefined;
  #helloMs = 0;
  /** In memory: a restarted agent trusts the control plane. */
  #seen: StoreMark | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#addresses = new Addresses(options.identity, options.random);
    this.pins = new Pins(options.identity.caDigest, options.identity.anchors, options.way);
    this.#token = options.identity.nodeToken;
    this.#otherToken = options.identity.previousToken;
  }

  /** Of the live session. */
  get epoch(): number | undefined {
    return this.#welcome?.epoch;
  }

  /** Of the control plane that is dialled now. */
  get server(): string {
    return this.#addresses.current;
  }

  /** The newest one that is on disk. */
  get token(): string {
    return this.#token;
  }

  /** A control plane answered that it does not know this node's token, and none has taken it since. */
  get wasRefused(): boolean {
    return this.#wasRefused;
  }

  get bufferedBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** False: there is no session; the next report says it. */
  send(message: AgentMessage): boolean {
    if (this.#welcome === undefined || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(message));
    return true;
  }

  /** A heartbeat with nothing to say. */
  pulse(): void {
    if (this.#welcome !== undefined && this.#socket?.readyState === WebSocket.OPEN) this.#socket.pong();
  }

  /** Resolves with the farewell that forbids to come back, or with nothing after `signal`. */
  async run(signal: AbortSignal): Promise<Farewell | undefined> {
    const { log, random = Math.random } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const begun = performance.now();
      const ending = await this.#connect(signal);
      if (signal.aborted) return undefined;
      if (ending.farewell?.retry === false) return ending.farewell;
      if (ending.unauthenticated === true) await this.#refused();
      if (ending.queued !== true) {
        failures = performance.now() - begun >= GOOD_SESSION_MS ? 1 : failures + 1;
        this.#addresses.moveOn();
      }
      // Longer pauses only after every address has failed: one that is down is no reason to be slow with the next.
      const rounds = Math.ceil(failures / this.#addresses.count);
      const waitMs = redialMs(ending, rounds, random);
      log.warn('no session with the control plane', { reason: ending.reason, retryInMs: waitMs });
      await pause(waitMs, undefined, { signal }).catch(() => {});
    }
    return undefined;
  }

  async #connect(signal: AbortSignal): Promise<Ending> {
    const { handlers } = this.#options;
    const address = new URL(`${this.#addresses.current}/agent/v1/session`);
    const socket = new WebSocket(address.href.replace(/^http/, 'ws'), {
      headers: { Authorization: `Bearer ${this.#token}` },
      createConnection: dialer(address, this.pins),
      handshakeTimeout: HANDSHAKE_DEADLINE_MS,
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      followRedirects: false,
    });
    this.#socket = socket;
    const close = (): void => socket.close(1000);
    signal.addEventListener('abort', close, { once: true });
    try {
      return await this.#converse(socket);
    } finally {
      signal.removeEventListener('abort', close);
      socket.removeAllListeners();
      socket.on('error', () => {});
      if (!signal.aborted) socket.terminate();
      this.#socket = undefined;
      if (this.#welcome !== undefined) {
        this.#welcome = undefined;
        handlers.onLost();
      }
    }
  }

  #converse(socket: WebSocket): Promise<Ending> {
    return new Promise((resolve) => {
      const silence = watchSilence(HANDSHAKE_DEADLINE_MS, () =>
        end({ reason: 'the control plane is silent' }),
      );
      const end = (ending: Ending): void => {
        silence.stop();
        resolve(ending);
      };
      let failure: Error | undefined;
      socket.on('error', (error) => (failure = error));
      socket.on('close', (code, reason) => {
        const said = `closed: ${code} ${reason.toString()}`.trim();
        end(
          failure === undefined
            ? { reason: said }
            : {
                reason: messageOf(failure),
                unreached: isUnreached(failure),
                refused: isRefused(failure),
              },
        );
      });
      socket.on('unexpected-response', (_request, response: IncomingMessage) => {
        void refusal(response).then(end);
      });
      socket.on('ping', () => silence.heard());
      socket.on('pong', () => silence.heard());
      socket.on('message', (data, isBinary) => {
        silence.heard();
        const message = isBinary ? undefined : decodeServerMessage(textOfFrame(data));
        if (message === undefined) this.#options.log.warn('ignored unknown message');
        else this.#take(socket, message, silence, end);
      });
    });
  }

  #take(socket: WebSocket, message: ServerMessage, silence: Silence, end: (ending: Ending) => void): void {
    const { log, handlers } = this.#options;
    if (message.type === 'farewell') {
      end({ reason: `${message.code}: ${message.message}`, farewell: message });
    } else if (message.type === 'challenge') {
      this.#answer(socket, message).catch((error: unknown) => end({ reason: messageOf(error) }));
    } else if (message.type === 'welcome') {
      silence.setLimit(message.silenceMs);
      this.#welcome = message;
      this.#wasRefused = false;
      if (this.#addresses.learn(message.servers ?? [])) this.#options.onServers?.(this.#addresses.learned);
      this.#learn(message.anchors ?? []);
      handlers.onWelcome(message, performance.now() - this.#helloMs);
    } else if (message.type === 'credential') {
      this.#renew(message).catch((error: unknown) =>
        log.warn('the new credential could not be kept; the old one stays', { reason: messageOf(error) }),
      );
    } else if (message.type === 'anchors') {
      if (this.#welcome !== undefined) this.#learn(message.anchors);
    } else if (this.#welcome !== undefined && !isStale(message, this.#welcome.epoch)) {
      if (message.type === 'assignment') this.#seen = message.asOf ?? this.#seen;
      handlers.onMessage(message);
    } else {
      log.warn('ignored message of another session', { type: message.type });
    }
  }

  /** Said only when it is on disk: the old one is worth nothing from then on. */
  async #renew({ token, number }: Credential): Promise<void> {
    const { onCredential } = this.#options;
    if (onCredential === undefined || this.#welcome === undefined) return;
    await onCredential(token, this.#token);
    [this.#otherToken, this.#token] = [this.#token, token];
    this.send({ type: 'credential-kept', number });
  }

  /** The store may have been put back to before the last renewal; or a person brought a join token. */
  async #refused(): Promise<void> {
    this.#wasRefused = true;
    if (this.#otherToken !== undefined) {
      [this.#token, this.#otherToken] = [this.#otherToken, this.#token];
      this.#swaps += 1;
      if (this.#swaps % 2 === 1) return;
    }
    const joined = await this.#options.onRefused?.();
    if (joined === undefined) return;
    this.#token = joined;
    this.#otherToken = undefined;
  }

  #learn(anchors: readonly string[]): void {
    if (!this.pins.learn(anchors)) return;
    this.#options.log.info('the control plane is known by these keys from now on', {
      anchors: this.pins.anchors.length,
    });
    this.#options.onAnchors?.(this.pins.anchors);
  }

  async #answer(socket: WebSocket, challenge: Challenge): Promise<void> {
    const { nonce, epoch, protocol: newest, oldest = newest } = challenge;
    // In none of its own if it has to be: the control plane refuses that with a reason for both sides.
    const protocol = negotiated(SPOKEN, { oldest, newest }) ?? SPOKEN.newest;
    const { identity, key } = this.#options;
    const facts = await this.#options.facts();
    const text = signedText(nonce, epoch, identity.nodeName, protocol);
    const signature = sign(null, Buffer.from(text), key).toString('base64');
    const hello: AgentMessage = {
      type: 'hello',
      protocol,
      node: identity.nodeName,
      epoch,
      signature,
      ...facts,
      ...(this.#seen && { seen: this.#seen }),
    };
    this.#helloMs = performance.now();
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(hello));
  }
}

function isStale(message: SessionMessage, epoch: number): boolean {
  return 'epoch' in message && message.epoch !== epoch;
}

async function refusal(response: IncomingMessage): Promise<Ending> {
  const status = response.statusCode ?? 0;
  const retryMs =
    status === 429 || status === 503 ? retryAfterMs(response.headers['retry-after']) : undefined;
  const record = fields(await readJson(response).catch(() => undefined));
  const details = [nonEmpty(record['code']), nonEmpty(record['why'])].filter(
    (detail) => detail !== undefined,
  );
  const reason = [`the control plane answered ${status}`, ...details].join(': ');
  if (status === 401) return { reason, unauthenticated: true };
  return { reason, ...(retryMs === undefined ? {} : { retryMs, queued: status === 429 }) };
}

interface Silence {
  heard(): void;
  setLimit(limitMs: number): void;
  stop(): void;
}

/** On the monotonic clock. A cut connection raises no error: only silence shows it (faults F-08 and F-10). */
function watchSilence(firstLimitMs: number, onSilent: () => void): Silence {
  let limitMs = firstLimitMs;
  let heardMs = performance.now();
  let timer = setTimeout(check, limitMs);
  function check(): void {
    const leftMs = heardMs + limitMs - performance.now();
    if (leftMs <= 0) onSilent();
    else timer = setTimeout(check, leftMs);
  }
  return {
    heard: () => {
      heardMs = performance.now();
    },
    setLimit: (ms) => {
      limitMs = ms;
      clearTimeout(timer);
      timer = setTimeout(check, limitMs);
    },
    stop: () => clearTimeout(timer),
  };
}
