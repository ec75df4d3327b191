import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type AgentMessage,
  ANCHORS_FEATURE,
  MAX_FRAME_BYTES,
  PONGS_FEATURE,
  PULSES_FEATURE,
  type Welcome,
} from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { TokenRecord } from '../../../core/model/tenant.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type AccessDependencies, platformTenantId } from '../../access/authenticate.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { ViewChange } from '../../store/view.ts';
import { AcceptRate, acceptsPerSecond } from './accept-rate.ts';
import { type AdmittedNode, admitNode } from './admit-node.ts';
import { challengeAgent } from './handshake.ts';
import { Inbox } from './inbox.ts';
import { Inflow } from './inflow.ts';
import { KeyedRate } from './keyed-rate.ts';
import { LargeMessages } from './large-messages.ts';
import type { Liveness } from '../../runtime/liveness.ts';
import { nodeKey } from '../assignments/placed-instances.ts';
import { AgentSession, sayFarewell } from './session.ts';
import type { SessionDirectory } from './session-directory.ts';
import { quarantineNode, recordSession, type SessionRecordDependencies } from './session-record.ts';
import { refuseUpgrade } from './upgrade-refusal.ts';

export const SESSION_PATH = '/agent/v1/session';
const SWEEP_MS = 500;
const ANSWER_MS = 1000;
/** Of all agents at once, after a pause: this process has much to read then, and an answer may be behind a long report. */
const SILENT_MS = 3000;
/** Agents send a message in one frame; some proxies cut it. */
const MAX_FRAGMENTS = 64;
/** Of one node: one that dials all the time leaves the turns of the others alone. */
const DIALS = { perSecond: 1, burst: 60 };

export interface SessionTimers {
  readonly heartbeatMs: number;
  /** Silence after which a session is ended and its node marked failed. */
  readonly failedAfterMs: number;
  readonly helloDeadlineMs: number;
  /** For so long after a start no node fails; absent: agents come as they may. */
  readonly startGraceMs?: number;
  /** Absent: the agents' own default. */
  readonly usageMs?: number;
}

export interface SessionsOptions extends SessionRecordDependencies {
  readonly access: AccessDependencies;
  readonly liveness: Liveness;
  /** Absent: no other control plane wants to know. */
  readonly directory?: SessionDirectory;
  readonly timers: SessionTimers;
  /** At least, however few nodes there are. */
  readonly acceptsPerSecond: number;
  /** Where else agents find a control plane of this store. */
  readonly addresses?: () => readonly string[];
  /** Keys by which agents know the control plane; absent: without TLS. */
  readonly anchors?: () => readonly string[];
  readonly baseUrl: (request: IncomingMessage) => string;
  readonly log: Logger;
}

export interface SessionHandlers {
  onOpened(session: AgentSession): void;
  /** It lives, and has nothing to report. */
  onPulse(session: AgentSession): void;
  onMessage(
    session: AgentSession,
    message: Exclude<AgentMessage, { readonly type: 'hello' | 'data' | 'end' }>,
  ): void;
  onClosed(session: AgentSession): void;
}

/** The live sessions of this process: one per node, each known to hold a token and the key of its node. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #handlers: SessionHandlers;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
    autoPong: false,
    maxFragments: MAX_FRAGMENTS,
    // A turn of the loop for each: what came together does not hold up what came from others.
    allowSynchronousEvents: false,
  });
  readonly #large: LargeMessages;
  readonly #accepts: AcceptRate;
  readonly #dials: KeyedRate;
  readonly #byNode = new Map<string, AgentSession>();
  readonly #byToken = new Map<string, AgentSession>();
  /** Of nodes whose session ended here: the store has it only now and then. */
  readonly #lastSeen = new Map<string, string>();
  readonly #toReview = new Set<AgentSession>();
  readonly #pending = new Set<WebSocket>();
  readonly #displaced = new WeakSet<AgentSession>();
  readonly #unsubscribe: () => void;
  readonly #sweeper: NodeJS.Timeout;
  #sweptMs: number;
  #enrolled = 0;
  #countedMs = Number.NEGATIVE_INFINITY;
  #closing = false;

  constructor(options: SessionsOptions, handlers: SessionHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    const { clock } = options.access;
    this.#accepts = new AcceptRate(() => this.#acceptsPerSecond(), clock);
    this.#dials = new KeyedRate(DIALS, clock);
    this.#large = new LargeMessages(options.log);
    this.#unsubscribe = options.store.view.onChange((change) => this.#onChange(change));
    this.#sweptMs = clock.monotonicMs();
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
  }

  get size(): number {
    return this.#byNode.size;
  }

  get streams(): number {
    let open = 0;
    for (const { streams } of this.#byNode.values()) open += streams.size;
    return open;
  }

  of(tenantId: TenantId, node: string): AgentSession | undefined {
    return this.#byNode.get(nodeKey(tenantId, node));
  }

  /** For the `upgrade` event of the HTTP server. Everything is refused before a socket is handed out. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', destroyed);
    const admitted = this.#admit(request);
    if (isRejection(admitted)) {
      this.#options.log.info({ code: admitted.code, field: admitted.field }, 'agent session refused');
      refuseUpgrade(socket, admitted, this.#options.baseUrl(request));
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (connection) =>
      this.#opened(connection, socket, admitted, request.socket.remoteAddress),
    );
  }

  /** What listens to the connection is made here: made in `upgrade`, it would hold the request for as long as the session lasts. */
  #opened(connection: WebSocket, socket: Duplex, admitted: AdmittedNode, from: string | undefined): void {
    const { name } = admitted.node;
    const inflow = new Inflow(connection, socket, this.#options.access.clock, () =>
      sayFarewell(connection, 'rate_limited', 'too many messages', true),
    );
    this.#converse(connection, inflow, admitted, from).catch((error: unknown) => {
      this.#options.log.error({ err: error, node: name }, 'agent session failed');
      sayFarewell(connection, 'store_unavailable', 'the control plane cannot open a session now', true);
    });
  }

  #admit(request: IncomingMessage): AdmittedNode | Rejection {
    const path = (request.url ?? '').split('?', 1)[0];
    if (path !== SESSION_PATH)
      return reject('route_not_found', {
        field: 'path',
        received: '(upgrade)',
        why: 'There is no such path for a WebSocket.',
      });
    if (this.#closing) {
      return {
        ...reject('store_unavailable', {
          field: 'server',
          received: '(stopping)',
          why: 'This control plane is stopping.',
        }),
        retryAfterSeconds: 1,
      };
    }
    const admitted = admitNode(this.#options, request);
    if (isRejection(admitted)) return admitted;
    if (!this.#dials.take(nodeKey(admitted.tenantId, admitted.node.name)))
      return tooManySessions(
        `at most ${DIALS.burst} new sessions of one node, then one a second`,
        'This node has connected again and again.',
        1,
      );
    const wait = this.#accepts.retryAfterSeconds();
    if (wait === undefined) return admitted;
    return tooManySessions(
      `at most ${this.#acceptsPerSecond()} new sessions per second`,
      `Many agents connect at once; come back in ${wait} s.`,
      wait,
    );
  }

  /** By the nodes of all tenants, which are counted once a second. */
  #acceptsPerSecond(): number {
    const { acceptsPerSecond: least, access, store, timers } = this.#options;
    const nowMs = access.clock.monotonicMs();
    if (nowMs - this.#countedMs >= 1000) {
      this.#countedMs = nowMs;
      this.#enrolled = 0;
      for (const tenantId of store.view.tenantIdsWith('nodes'))
        this.#enrolled += store.forTenant(tenantId).collection('nodes').size;
    }
    const { startGraceMs } = timers;
    return startGraceMs === undefined ? least : acceptsPerSecond(least, this.#enrolled, startGraceMs);
  }

  async #converse(
    socket: WebSocket,
    inflow: Inflow,
    { tenantId, tokenId, node, usesNext }: AdmittedNode,
    from: string | undefined,
  ): Promise<void> {
    this.#pending.add(socket);
    socket.on('error', () => socket.terminate());
    socket.once('close', () => this.#pending.delete(socket));
    const hello = await challengeAgent(socket, node, this.#options.timers.helloDeadlineMs);
    if (hello === undefined) return;
    // Nothing may be lost between the hello and the handler below: an agent speaks only after the welcome.
    const record = await recordSession(this.#options, tenantId, node, hello, from);
    if ('code' in record) {
      sayFarewell(socket, record.code, record.message, record.retry);
      return;
    }
    this.#pending.delete(socket);
    const session = new AgentSession(
      socket,
      {
        tenantId,
        tokenId,
        node: node.name,
        publicKey: node.publicKey,
        epoch: record.sessionEpoch,
        usesNext,
        remembersAnchors: record.features?.includes(ANCHORS_FEATURE) === true,
        servesIngress: record.ingress !== undefined,
        hearsPongs: record.features?.includes(PONGS_FEATURE) === true,
        sendsPulses: record.features?.includes(PULSES_FEATURE) === true,
      },
      this.#options.access.clock,
    );
    if (!session.open || this.#closing) {
      socket.close(1012);
      return;
    }
    this.#register(session);
    // Answered by hand, so that a flood of pings is a flood of messages like any other.
    socket.on('ping', () => {
      if (!session.open) return;
      if (session.rate.take()) socket.pong();
      else session.farewell('rate_limited', 'too many pings', true);
    });
    if (session.identity.sendsPulses === true)
      socket.on('pong', () => {
        if (!this.#speaks(session)) return;
        session.heard();
        this.#handlers.onPulse(session);
      });
    const inbox = new Inbox(inflow, this.#large, (message) => this.#onMessage(session, message));
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.#onMessage(session, undefined);
      else if (this.#speaks(session)) inbox.take(data);
    });
    socket.once('close', () => this.#unregister(session));
    session.send(this.#welcome(session));
    this.#handlers.onOpened(session);
    // A token revoked or a node deleted while the epoch was being stored has not ended any session yet.
    this.#review(session);
  }

  #welcome({ identity: { tenantId, epoch } }: AgentSession): Welcome {
    const { store, timers, addresses, anchors } = this.#options;
    return {
      type: 'welcome',
      epoch,
      tenantId,
      tenantSlug: store.getGlobal('tenants', tenantId)?.record.slug ?? '',
      installId: platformTenantId(store) ?? '',
      heartbeatMs: timers.heartbeatMs,
      hearsPulses: true,
      // Before the node would be failed: a redial in time keeps a short cut from showing at all (fault F-08).
      silenceMs: Math.round((timers.failedAfterMs * 2) / 3),
      ...(timers.usageMs === undefined ? {} : { usageMs: timers.usageMs }),
      ...(addresses && { servers: addresses() }),
      ...(anchors && { anchors: anchors() }),
      nowMs: this.#options.access.clock.now().getTime(),
      answersImages: true,
    };
  }

  /** When the agent last reported, in this session or in the last one of this process; undefined: in none. */
  lastSeenAt(tenantId: TenantId, node: string): string | undefined {
    const key = nodeKey(tenantId, node);
    return this.#byNode.get(key)?.seenAt ?? this.#lastSeen.get(key);
  }

  #register(session: AgentSession): void {
    const { tenantId, node, tokenId } = session.identity;
    const older = this.#byNode.get(session.key);
    this.#byNode.set(session.key, session);
    this.#lastSeen.delete(session.key);
    this.#byToken.set(tokenId, session);
    if (older !== undefined) {
      this.#handlers.onClosed(older);
      this.#displace(older);
    }
    this.#options.liveness.sessionOpened(tenantId, node);
    this.#options.log.info({ tenantId, node, epoch: session.identity.epoch }, 'agent connected');
  }

  #unregister(session: AgentSession): void {
    const { tenantId, node, tokenId } = session.identity;
    this.#toReview.delete(session);
    session.streams.closeAll();
    // Displaced by a newer session, whose reports stay valid.
    if (this.#byNode.get(session.key) !== session) return;
    this.#byNode.delete(session.key);
    if (this.#options.store.forTenant(tenantId).get('nodes', idOf('nodes', node)) !== undefined)
      this.#lastSeen.set(session.key, session.seenAt);
    if (this.#byToken.get(tokenId) === session) this.#byToken.delete(tokenId);
    this.#handlers.onClosed(session);
    this.#options.liveness.sessionClosed(tenantId, node);
    // A process that stops gives up its lease, and all its sessions with it.
    if (!this.#closing) this.#options.directory?.closed(session);
    this.#options.log.info({ tenantId, node }, 'agent disconnected');
  }

  /** Messages of a displaced session are of an older epoch, and those after a farewell are too late: they count for nothing. */
  #speaks(session: AgentSession): boolean {
    return session.open && this.#byNode.get(session.key) === session;
  }

  #onMessage(session: AgentSession, message: AgentMessage | undefined): void {
    if (!this.#speaks(session)) return;
    session.heard();
    if (message === undefined || message.type === 'hello') {
      session.farewell('body_malformed', 'a message was not understood', true);
      return;
    }
    // Data of an open stream is bounded by its credit and by what a connection may send; everything else by the rate.
    if (message.type === 'data' && session.streams.data(message)) return;
    if (!session.rate.take()) {
      session.farewell('rate_limited', 'too many messages', true);
      return;
    }
    if (message.type === 'end') session.streams.end(message);
    else if (message.type !== 'data') this.#handlers.onMessage(session, message);
  }

  /** Rights are looked up again whenever a record that grants them changes: a revocation ends the socket at once. */
  #onChange({ tenantId, kind, id, after }: ViewChange): void {
    let session: AgentSession | undefined;
    if (tenantId === undefined && kind === 'tokens') session = this.#byToken.get(id);
    else if (tenantId !== undefined && kind === 'nodes') {
      const key = nodeKey(tenantId, segmentsOf(kind, id)[0]);
      session = this.#byNode.get(key);
      if (after === undefined) this.#lastSeen.delete(key);
    }
    if (session === undefined || this.#toReview.has(session)) return;
    this.#toReview.add(session);
    // After the whole commit is in the view: a node that moves to another tenant is deleted here and appears there.
    setImmediate(() => {
      if (session !== undefined && this.#toReview.delete(session)) this.#review(session);
    });
  }

  #review(session: AgentSession): void {
    const { tenantId, node, tokenId, publicKey, epoch } = session.identity;
    const { store } = this.#options;
    const token: TokenRecord | undefined = store.getGlobal('tokens', tokenId)?.record;
    const record = store.forTenant(tenantId).get('nodes', idOf('nodes', node))?.record;
    if (token !== undefined && token.revokedAt === undefined && token.tenantId !== tenantId) {
      session.farewell('agent_session_stale', 'the node belongs to another tenant now; dial again', true);
    } else if (record === undefined) {
      session.farewell('node_not_found', 'the node was deleted', false);
    } else if (
      token === undefined ||
      token.revokedAt !== undefined ||
      record.tokenId !== tokenId ||
      record.publicKey !== publicKey
    ) {
      session.farewell('unauthenticated', 'the token of this node was revoked', false);
    } else if (record.sessionEpoch > epoch) {
      this.#displace(session);
    } else {
      return;
    }
    this.#unregister(session);
  }

  /**
   * An agent gives up its old connection before it dials again. One that still answers is a second machine with the same key:
   * its node takes nothing more until a person has looked.
   */
  #displace(session: AgentSession): void {
    if (this.#displaced.has(session)) return;
    this.#displaced.add(session);
    void session
      .answers(ANSWER_MS)
      .then(async (alive) => {
        session.farewell('agent_session_stale', 'a newer session of this node displaced this one', false);
        if (alive && !this.#closing) await quarantineNode(this.#options, session.identity);
      })
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error, node: session.identity.node }, 'quarantine failed'),
      );
  }

  #sweep(): void {
    const now = this.#options.access.clock.monotonicMs();
    // A process that was stopped must read what arrived meanwhile before it judges silence (fault F-21).
    const lateMs = Math.max(0, now - this.#sweptMs - 2 * SWEEP_MS);
    this.#sweptMs = now;
    const { heartbeatMs, failedAfterMs } = this.#options.timers;
    for (const session of this.#byNode.values()) {
      session.heardMs += lateMs;
      if (now - session.heardMs > failedAfterMs) {
        session.terminate();
        this.#unregister(session);
      } else if (now - session.pingedMs >= heartbeatMs) {
        session.signOfLife(now);
      }
    }
  }

  /** Sessions whose agent does not answer now end, however short its silence was while this process ran; resolves when that is recorded. */
  async endSilent(): Promise<void> {
    const asked = [...this.#byNode.values()].map(async (session) => {
      if (await session.answers(SILENT_MS)) return;
      session.terminate();
      this.#unregister(session);
    });
    await Promise.all(asked);
    await this.#options.directory?.recorded();
  }

  [Symbol.iterator](): IterableIterator<AgentSession> {
    return this.#byNode.values();
  }

  /** The keys of the control plane have changed, or will. */
  tellAnchors(): void {
    const anchors = this.#options.anchors?.() ?? [];
    for (const session of this.#byNode.values())
      if (session.identity.remembersAnchors) session.send({ type: 'anchors', anchors });
  }

  /** The agents are to come back, here or to another control plane. */
  release(): void {
    for (const session of this.#byNode.values()) {
      session.release();
      this.#unregister(session);
      setTimeout(() => session.terminate(), SWEEP_MS).unref();
    }
  }

  close(): void {
    this.#closing = true;
    clearInterval(this.#sweeper);
    this.#unsubscribe();
    for (const socket of this.#pending) socket.terminate();
    this.release();
    this.#large.close();
    this.#server.close();
  }
}

function destroyed(this: Duplex): void {
  this.destroy();
}

function tooManySessions(expected: string, why: string, retryAfterSeconds: number): Rejection {
  return {
    ...reject('rate_limited', { field: 'path', received: SESSION_PATH, expected, why }),
    retryAfterSeconds,
  };
}
