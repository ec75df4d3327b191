import { isRecord } from '../../../core/model/values.ts';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import type { StreamOperation } from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { AccessDependencies } from '../../access/authenticate.ts';
import type { Store } from '../../store/store.ts';
import { type AdmittedNode, admitNode, admitProvenNode } from '../sessions/admit-node.ts';
import { type CopyRequest, copyRejection, readCopyRequest, relayPath } from './copy-request.ts';
import { MessageRate } from '../sessions/message-rate.ts';
import { nodeKey } from '../assignments/placed-instances.ts';
import type { AgentStream } from '../streams/streams.ts';
import { refuseUpgrade } from '../sessions/upgrade-refusal.ts';

const FETCH_DEADLINE_MS = 10_000;
/** A relay that is idle for this long has lost one of its ends. */
const STALLED_MS = 60_000;
/** The receiver may have to bring a large copy to its disk after the last byte. */
const CONFIRM_MS = 130_000;
/** Of a receiver that has left; the sender holds still for 30 s. */
const REASON_MS = 10_000;
const MAX_FRAME_BYTES = 2 ** 20;
const MAX_RELAYS = 256;
/** One tenant's nodes, however many volumes they keep, leave room for the copies of the others. */
const MAX_RELAYS_OF_TENANT = 64;
/** A node that is deleted, or no longer the primary, sends no longer than this. */
const CHECK_MS = 900;
const END_OF_COPY = 'end';
/** A copy comes in pieces of some 64 KiB; who sends more pieces than these is waited for, and small ones are gathered by the sender. */
const PIECES = { perSecond: 4000, burst: 16_000 };
/** Agents send a piece in one frame; some proxies cut it. */
const MAX_FRAGMENTS = 16;
/** No pings needed here. */
const MAX_PINGS = 100;

export interface RelayOptions {
  readonly store: Store;
  readonly access: AccessDependencies;
  /** On whichever control plane the agent is connected to. */
  readonly connected: (tenantId: TenantId, node: string) => boolean;
  readonly stream: (tenantId: TenantId, node: string, operation: StreamOperation) => AgentStream | undefined;
  /** Absent: this process is the only control plane. */
  readonly others?: {
    readonly self: string;
    /** Hands the connection to the control plane of that id; false: there is none. */
    proxyUpgrade(controlPlane: string, request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  };
  readonly baseUrl: (request: IncomingMessage) => string;
  readonly log: Logger;
}

interface Awaited {
  readonly tenantId: TenantId;
  readonly target: string;
  readonly arrived: (receiver: WebSocket) => void;
}

export interface Meeting {
  readonly id: string;
  readonly arrived: Promise<WebSocket>;
  readonly leave: () => void;
}

type Outcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly where: 'receiver' | 'way';
      readonly reason: string;
      readonly message: string;
      readonly have?: unknown;
    };

/**
 * Copies of volumes on their way from one node to another, which may both be behind a firewall. Every byte is passed on as it
 * comes and no faster than it is taken; nothing is kept. Who may send what to whom is decided here, from the record, when a
 * copy begins; the receiver compares the epoch once more.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
    maxFragments: MAX_FRAGMENTS,
    autoPong: false,
  });
  readonly #awaited = new Map<string, Awaited>();
  /** One stream per copy: a newer one of the same primary takes the place of one that hangs. */
  readonly #senders = new Map<string, WebSocket>();

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** False: not a path of relays. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const path = relayPath(request.url ?? '');
    if (path === undefined) return false;
    socket.on('error', () => socket.destroy());
    const admitted = admitProvenNode(this.#options, request);
    // Only for a node: no other caller is proxied to the other control planes.
    const passes = !isRejection(admitted) && path.kind === 'relay';
    if (passes && this.#isElsewhere(path.relayId, request, socket, head)) return true;
    const taken = isRejection(admitted)
      ? admitted
      : path.kind === 'relay'
        ? this.#fetch(admitted, path.relayId)
        : this.#offer(admitted, path, () => !isRejection(admitNode(this.#options, request)));
    if (isRejection(taken)) {
      const { code, field } = taken;
      this.#options.log.info({ code, field }, 'copy of a volume refused');
      refuseUpgrade(socket, taken, this.#options.baseUrl(request));
    } else {
      this.#server.handleUpgrade(request, socket, head, (connection) => {
        answerPings(connection);
        taken(connection);
      });
    }
    return true;
  }

  /** The receiver dials the control plane that it is connected to; the copy may wait at another one, which its id names. */
  #isElsewhere(relayId: string, request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { others } = this.#options;
    const controlPlane = relayId.includes('-') ? relayId.slice(0, relayId.indexOf('-')) : undefined;
    if (others === undefined || controlPlane === undefined || controlPlane === others.self) return false;
    return others.proxyUpgrade(controlPlane, request, socket, head);
  }

  /**
   * A place at which one connection of that node is waited for, on this process; whatever control plane the node dials brings it here.
   * To be left in the end. `prepare` gets the connection before anything can come of it.
   */
  meet(
    tenantId: TenantId,
    target: string,
    prepare: (connection: WebSocket) => void = () => undefined,
  ): Meeting {
    const { others } = this.#options;
    const id = `${others === undefined ? '' : `${others.self}-`}${randomBytes(20).toString('hex')}`;
    const { promise: arrived, resolve } = Promise.withResolvers<WebSocket>();
    const arrive = (connection: WebSocket): void => {
      prepare(connection);
      resolve(connection);
    };
    this.#awaited.set(id, { tenantId, target, arrived: arrive });
    return { id, arrived, leave: () => void this.#awaited.delete(id) };
  }

  close(): void {
    for (const sender of this.#senders.values()) sender.terminate();
    this.#server.close();
  }

  #fetch({ tenantId, node }: AdmittedNode, relayId: string): ((receiver: WebSocket) => void) | Rejection {
    const awaited = this.#awaited.get(relayId);
    if (awaited === undefined || awaited.tenantId !== tenantId || awaited.target !== node.name) {
      return reject('route_not_found', {
        field: 'path',
        received: '(relay)',
        why: 'There is no such relay for this node.',
      });
    }
    this.#awaited.delete(relayId);
    return awaited.arrived;
  }

  #offer(
    { tenantId, node }: AdmittedNode,
    path: Parameters<typeof readCopyRequest>[0],
    credentialHolds: () => boolean,
  ): ((sender: WebSocket) => void) | Rejection {
    const request = readCopyRequest(path);
    if (isRejection(request)) return request;
    const refused = (): Rejection | undefined =>
      copyRejection(this.#options.store.forTenant(tenantId), node.name, request);
    const refusal = refused();
    if (refusal !== undefined) return refusal;
    if (!this.#options.connected(tenantId, request.target) || !this.#hasRoom(tenantId)) {
      return {
        ...reject('agent_unreachable', {
          field: 'node',
          received: request.target,
          why: `Node ${request.target} cannot take the copy now.`,
        }),
        retryAfterSeconds: 1,
      };
    }
    return (sender) => {
      const check = setInterval(() => {
        if (!credentialHolds() || refused() !== undefined) sender.terminate();
      }, CHECK_MS);
      sender.once('close', () => clearInterval(check));
      void this.#carry(tenantId, request, sender);
    };
  }

  #hasRoom(tenantId: TenantId): boolean {
    if (this.#senders.size >= MAX_RELAYS) return false;
    let own = 0;
    for (const key of this.#senders.keys()) if (key.startsWith(nodeKey(tenantId, ''))) own += 1;
    return own < MAX_RELAYS_OF_TENANT;
  }

  async #carry(tenantId: TenantId, request: CopyRequest, sender: WebSocket): Promise<void> {
    const key = `${nodeKey(tenantId, request.target)}/${request.volumeId}`;
    this.#senders.get(key)?.terminate();
    this.#senders.set(key, sender);
    sender.on('error', () => sender.terminate());
    // At once: it holds back what comes before the receiver is here.
    const source = createWebSocketStream(sender, { readableObjectMode: true });
    source.on('error', () => {});
    const outcome = await this.#relay(tenantId, request, sender, source).catch(
      (error: unknown): Outcome =>
        failed('way', 'relay_failed', error instanceof Error ? error.message : 'unknown'),
    );
    if (this.#senders.get(key) === sender) this.#senders.delete(key);
    sender.send(JSON.stringify(outcome), () => sender.close());
    setTimeout(() => sender.terminate(), 1000).unref();
  }

  async #relay(
    tenantId: TenantId,
    request: CopyRequest,
    sender: WebSocket,
    source: Duplex,
  ): Promise<Outcome> {
    const { volumeId, epoch: volumeEpoch, copy, target } = request;
    const meeting = this.meet(tenantId, target);
    const operation = { kind: 'volume-receive', volumeId, volumeEpoch, relayId: meeting.id, copy } as const;
    const stream = this.#options.stream(tenantId, target, operation);
    if (stream === undefined) {
      meeting.leave();
      return failed('way', 'agent_unreachable', `node ${target} is not connected`);
    }
    const ended = outcomeOf(stream);
    const gone = new Promise<undefined>((resolve) => sender.once('close', () => resolve(undefined)));
    let receiver: WebSocket | undefined;
    try {
      const first = await Promise.race([meeting.arrived, ended, gone, after(FETCH_DEADLINE_MS)]);
      if (first === undefined)
        return failed('way', 'receiver_silent', 'the receiving node did not fetch the copy');
      if ('ok' in first) return first;
      receiver = first;
      receiver.on('error', () => {});
      const moving = pass(sender, source, receiver, new MessageRate(PIECES, this.#options.access.clock));
      const early = await Promise.race([
        moving.catch(async (error: unknown) => {
          // Who cannot use the copy leaves, and then says why.
          const why = await Promise.race([ended, gone, after(REASON_MS)]);
          if (why === undefined) throw error;
          return why;
        }),
        ended,
      ]);
      if (early !== undefined) return early;
      return (
        (await Promise.race([ended, after(CONFIRM_MS)])) ??
        failed('way', 'receiver_silent', 'the receiving node did not confirm the copy')
      );
    } finally {
      meeting.leave();
      stream.cancel();
      receiver?.terminate();
    }
  }
}

function answerPings(connection: WebSocket): void {
  let pings = 0;
  connection.on('ping', () => {
    pings += 1;
    if (pings > MAX_PINGS) connection.terminate();
    else connection.pong();
  });
}

/** Byte by byte to the mark of the end, which alone says that nothing is missing. */
async function pass(
  sender: WebSocket,
  source: Duplex,
  receiver: WebSocket,
  pieces: MessageRate,
): Promise<void> {
  let timer = setTimeout(() => sender.terminate(), STALLED_MS);
  // A frame that the receiver does not take is waited for only as long as there is a sender.
  const gone = (): void => receiver.terminate();
  sender.once('close', gone);
  try {
    for await (const item of source.iterator({ destroyOnReturn: false })) {
      clearTimeout(timer);
      timer = setTimeout(() => sender.terminate(), STALLED_MS);
      await new Promise<void>((resolve, reject) => {
        const done = (error?: Error | null): void => (error == null ? resolve() : reject(error));
        receiver.send(item as Buffer | string, { binary: typeof item !== 'string' }, done);
      });
      if (item === END_OF_COPY) return;
      const owedMs = pieces.spend(1);
      if (owedMs > 1) await after(owedMs);
    }
    throw new Error('the sending node ended the connection');
  } finally {
    clearTimeout(timer);
    sender.off('close', gone);
  }
}

async function outcomeOf(stream: AgentStream): Promise<Outcome> {
  let have: unknown;
  for await (const { value } of stream) have = (isRecord(value) ? value['have'] : undefined) ?? have;
  const error = stream.end?.error;
  if (error === undefined) return { ok: true };
  const where = error.reason === 'agent_unreachable' || error.reason === 'cancelled' ? 'way' : 'receiver';
  return { ...failed(where, error.reason, error.message), ...(have === undefined ? {} : { have }) };
}

function failed(
  where: 'receiver' | 'way',
  reason: string,
  message: string,
): Extract<Outcome, { readonly ok: false }> {
  return { ok: false, where, reason, message };
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(undefined), ms).unref());
}
