import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { WebSocket, WebSocketServer } from 'ws';
import type { TenantId } from '../../../core/model/ids.ts';
import { HANDED_ON_HEADER } from '../../../core/protocol/agent-protocol.ts';
import {
  MAX_MESH_FRAME,
  MESH_RELAY_PATH,
  readMeshFrame,
  writeMeshFrame,
} from '../../../core/protocol/mesh-frame.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { AccessDependencies } from '../../access/authenticate.ts';
import type { Clock } from '../../clock.ts';
import type { Store } from '../../store/store.ts';
import { nodeKey } from '../assignments/placed-instances.ts';
import { admitNode, admitProvenNode } from '../sessions/admit-node.ts';
import { MessageRate } from '../sessions/message-rate.ts';
import { refuseUpgrade } from '../sessions/upgrade-refusal.ts';

/** A receiver that is slower loses packets, as on any network, and WireGuard's users send them again. */
const MAX_QUEUED_BYTES = 2 ** 20;
/** Of a tenant: bytes a second, and as many packets as are small. */
const PACKET_COST = 500;
/** A node whose tenant has sent more is not read from for a while; the packets it has meanwhile are lost on its own machine. */
const MAX_PAUSE_MS = 1_000;
/** A node that is deleted, or whose token is revoked, sends no longer than this. */
const CHECK_MS = 900;

export interface MeshRelayOptions {
  readonly store: Store;
  readonly access: AccessDependencies;
  readonly bytesPerSecond: number;
  /** Absent: this process is the only control plane. */
  readonly others?: {
    /** Where the nodes of a tenant meet; undefined: here. */
    hubOf(tenantId: TenantId): string | undefined;
    proxyUpgrade(controlPlane: string, request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  };
  readonly baseUrl: (request: IncomingMessage) => string;
  readonly log: Logger;
}

/** What went through the relay, for metrics. */
export interface RelayCounters {
  packets: number;
  bytes: number;
  dropped: number;
  /** How often a node was not read from, because its tenant had sent more than it may. */
  paused: number;
}

/**
 * Packets between nodes of one tenant that cannot reach one another. They are WireGuard's: the relay reads to whom they go and nothing else, and
 * keeps nothing. Bounded per tenant, so that one tenant's traffic is not everybody's outage.
 */
export class MeshRelay {
  readonly counters: RelayCounters = { packets: 0, bytes: 0, dropped: 0, paused: 0 };
  readonly #options: MeshRelayOptions;
  readonly #clock: Clock;
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESH_FRAME,
    perMessageDeflate: false,
    clientTracking: false,
    maxFragments: 1,
  });
  readonly #nodes = new Map<string, WebSocket>();
  readonly #rates = new Map<TenantId, MessageRate>();

  constructor(options: MeshRelayOptions) {
    this.#options = options;
    this.#clock = options.access.clock;
  }

  /** False: not the path of this relay. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    if (request.url !== MESH_RELAY_PATH) return false;
    const { baseUrl, others } = this.#options;
    socket.on('error', () => socket.destroy());
    const admitted = admitProvenNode(this.#options, request);
    if (isRejection(admitted)) {
      refuseUpgrade(socket, admitted, baseUrl(request));
      return true;
    }
    const { tenantId, node } = admitted;
    const hub = others?.hubOf(tenantId);
    // Two that disagree for a moment do not send a node to and fro.
    const isHandedOn = request.headers[HANDED_ON_HEADER] !== undefined;
    if (hub !== undefined && !isHandedOn && others?.proxyUpgrade(hub, request, socket, head) === true)
      return true;
    this.#server.handleUpgrade(request, socket, head, (connection) =>
      this.#take(
        tenantId,
        node.name,
        connection,
        // Whoever is connected elsewhere than the others of its tenant has to come again: they meet where their tenant is decided for.
        () => others?.hubOf(tenantId) === undefined && !isRejection(admitNode(this.#options, request)),
      ),
    );
    return true;
  }

  get connections(): number {
    return this.#nodes.size;
  }

  close(): void {
    for (const connection of this.#nodes.values()) connection.terminate();
    this.#server.close();
  }

  #take(tenantId: TenantId, node: string, connection: WebSocket, isStillAdmitted: () => boolean): void {
    const key = nodeKey(tenantId, node);
    this.#nodes.get(key)?.terminate();
    this.#nodes.set(key, connection);
    const check = setInterval(() => {
      if (!isStillAdmitted()) connection.terminate();
    }, CHECK_MS);
    connection.on('error', () => connection.terminate());
    connection.on('close', () => {
      clearInterval(check);
      if (this.#nodes.get(key) === connection) this.#nodes.delete(key);
    });
    connection.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) return connection.terminate();
      this.#pass(tenantId, node, data);
      this.#charge(tenantId, connection, data.length);
    });
  }

  /** Whatever it was, and whether it went anywhere: reading it has cost something. */
  #charge(tenantId: TenantId, connection: WebSocket, bytes: number): void {
    const waitMs = this.#rate(tenantId).spend(PACKET_COST + bytes);
    if (waitMs <= 0 || connection.isPaused) return;
    connection.pause();
    this.counters.paused += 1;
    setTimeout(() => connection.resume(), Math.min(MAX_PAUSE_MS, waitMs)).unref();
  }

  #pass(tenantId: TenantId, from: string, data: Buffer): void {
    const frame = readMeshFrame(data);
    const target = frame && this.#nodes.get(nodeKey(tenantId, frame.node));
    if (frame === undefined || target === undefined || target.readyState !== WebSocket.OPEN) return;
    if (target.bufferedAmount > MAX_QUEUED_BYTES) {
      this.counters.dropped += 1;
      return;
    }
    this.counters.packets += 1;
    this.counters.bytes += frame.packet.length;
    target.send(writeMeshFrame(from, frame.packet), { binary: true });
  }

  #rate(tenantId: TenantId): MessageRate {
    const known = this.#rates.get(tenantId);
    if (known !== undefined) return known;
    const { bytesPerSecond } = this.#options;
    const rate = new MessageRate({ perSecond: bytesPerSecond, burst: bytesPerSecond }, this.#clock);
    this.#rates.set(tenantId, rate);
    return rate;
  }
}
