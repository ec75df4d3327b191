import { createSocket, type Socket } from 'node:dgram';
import { WebSocket } from 'ws';
import { messageOf } from '../../core/model/values.ts';
import { MAX_MESH_FRAME, readMeshFrame, writeMeshFrame } from '../../core/protocol/mesh-frame.ts';
import { type Log } from '../log.ts';

const REDIAL_MS = 2_000;
const MAX_QUEUED_BYTES = 2 ** 20;
const LOOPBACK = '127.0.0.1';

/** What WireGuard takes for a peer: a port of this machine whose packets come from, and go to, the relay. */
interface Stand {
  readonly socket: Socket;
  readonly port: number;
}

/** This node's side of the relay: connected while a peer needs it, and not longer. */
export class RelayClient {
  readonly #dial: () => WebSocket;
  readonly #devicePort: number;
  readonly #log: Log;
  readonly #stands = new Map<string, Promise<Stand>>();
  #connection: WebSocket | undefined;
  #redial: NodeJS.Timeout | undefined;
  #wanted: ReadonlySet<string> = new Set();
  /** Of the map: nobody else is given a socket. */
  #known: ReadonlySet<string> = new Set();

  constructor(dial: () => WebSocket, devicePort: number, log: Log) {
    this.#dial = dial;
    this.#devicePort = devicePort;
    this.#log = log;
  }

  /** The endpoint to give WireGuard for a peer. */
  async endpointOf(node: string): Promise<string> {
    const { port } = await this.#standOf(node);
    return `${LOOPBACK}:${port}`;
  }

  /** `relayed`: peers that are reached through the relay now; none: the connection ends. `known`: all peers. */
  use(relayed: ReadonlySet<string>, known: ReadonlySet<string>): void {
    this.#wanted = relayed;
    this.#known = known;
    for (const node of this.#stands.keys()) if (!known.has(node)) this.#leave(node);
    if (relayed.size === 0) this.#hangUp();
    else this.#connect();
  }

  close(): void {
    this.#wanted = new Set();
    this.#hangUp();
    for (const node of this.#stands.keys()) this.#leave(node);
  }

  #standOf(node: string): Promise<Stand> {
    const there = this.#stands.get(node);
    if (there !== undefined) return there;
    const stand = this.#stand(node);
    this.#stands.set(node, stand);
    stand.catch(() => this.#stands.delete(node));
    return stand;
  }

  #leave(node: string): void {
    this.#stands.get(node)?.then(
      ({ socket }) => socket.close(),
      () => {},
    );
    this.#stands.delete(node);
  }

  async #stand(node: string): Promise<Stand> {
    const socket = createSocket('udp4');
    socket.on('error', () => {});
    socket.on('message', (packet, { port }) => {
      // Only the interface itself speaks here.
      if (port === this.#devicePort) this.#send(node, packet);
    });
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(0, LOOPBACK, () => {
        socket.off('error', reject);
        resolve();
      });
    });
    return { socket, port: socket.address().port };
  }

  #send(node: string, packet: Uint8Array): void {
    const connection = this.#connection;
    if (connection?.readyState !== WebSocket.OPEN || connection.bufferedAmount > MAX_QUEUED_BYTES) return;
    if (packet.length + node.length + 1 <= MAX_MESH_FRAME)
      connection.send(writeMeshFrame(node, packet), { binary: true });
  }

  #connect(): void {
    if (this.#connection !== undefined) return;
    const connection = this.#dial();
    this.#connection = connection;
    connection.on('message', (data: Buffer) => {
      this.#arrived(data).catch(() => {});
    });
    connection.on('error', (error) =>
      this.#log.debug('the relay cannot be reached', { reason: messageOf(error) }),
    );
    connection.on('close', () => {
      if (this.#connection === connection) this.#connection = undefined;
      if (this.#wanted.size === 0) return;
      clearTimeout(this.#redial);
      this.#redial = setTimeout(() => this.#connect(), REDIAL_MS).unref();
    });
  }

  /** A peer may come by the relay before we know that it has to. */
  async #arrived(data: Uint8Array): Promise<void> {
    const frame = readMeshFrame(data);
    if (frame === undefined || !this.#known.has(frame.node)) return;
    const { socket } = await this.#standOf(frame.node);
    socket.send(frame.packet, this.#devicePort, LOOPBACK, () => {});
  }

  #hangUp(): void {
    clearTimeout(this.#redial);
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.close();
  }
}
