import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { addressGroup } from './address-group.ts';
import { Descriptors } from './descriptors.ts';

export interface ConnectionLimits {
  /** Of one address at once, agents' sessions not counted. */
  readonly perAddress: number;
  /** Addresses that stand for many: proxies. */
  readonly isExempt: (address: string) => boolean;
  /** Descriptors that are kept for health, agents and the store. */
  readonly reserved: number;
  /** Absent: what the process has. */
  readonly descriptors?: number;
}

interface Open {
  readonly socket: Socket;
  /** What is inside of TLS, which is what the HTTP server reads then. */
  secure?: Socket;
  readonly key: string;
  readonly group: string;
  /** What was over when it came; absent: nothing. */
  beyond?: 'address' | 'process';
  /** An agent's session, or another control plane that proved itself: neither is counted for its address. */
  known?: boolean;
  /** It carries no answers any more. */
  isUpgraded?: boolean;
}

/** Idle connections are looked for this often at most. */
const SWEEP_MS = 250;
const RETRY_SECONDS = 5;
const FEWEST_NEWCOMERS = 4;
/** Answered however few descriptors are left. */
const ALWAYS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/**
 * Who may hold how many connections. One that comes when a limit is reached is accepted all the same, since only its request shows
 * what it is: health and agents get in, anything else gets a refusal. A silent connection gives way to a later one.
 */
export class Connections {
  readonly descriptors: Descriptors;
  readonly #limits: ConnectionLimits;
  readonly #log: Logger;
  readonly #open = new Map<string, Open>();
  readonly #ofGroup = new Map<string, number>();
  /** Came when descriptors were scarce, and have not shown yet who they are; the oldest first. */
  readonly #newcomers = new Set<Open>();
  readonly #beyond = new Map<Socket, Open>();
  readonly #always: (path: string) => boolean;
  #closeIdle: () => void = () => undefined;
  #isClosing = false;
  #sweptMs = 0;
  #warned = false;
  refused = 0;

  constructor(limits: ConnectionLimits, log: Logger, peerPaths: readonly string[] = []) {
    this.#limits = limits;
    this.#log = log;
    this.#always = (path) => ALWAYS.has(path) || peerPaths.includes(path);
    this.descriptors = new Descriptors(limits.reserved, () => this.#open.size, limits.descriptors);
  }

  get count(): number {
    return this.#open.size;
  }

  follow(server: Server): void {
    const closeIdle = server.closeIdleConnections.bind(server);
    // Node takes a connection for idle once its answer is written, though the client may have most of it to come: a stop would cut that off.
    server.closeIdleConnections = () => {
      if (this.#isClosing) sparing(this.#awaited(), closeIdle);
      else closeIdle();
    };
    this.#closeIdle = () => server.closeIdleConnections();
    server.on('connection', (socket: Socket) => this.#accept(socket));
    // Requests name the socket inside of TLS, the limit was checked before.
    server.on('secureConnection', (socket: Socket) => {
      const open = this.#open.get(keyOf(socket));
      if (open === undefined) return;
      open.secure = socket;
      if (open.beyond === undefined) return;
      this.#beyond.set(socket, open);
      socket.once('close', () => this.#beyond.delete(socket));
    });
    server.prependListener('upgrade', ({ socket }) => {
      this.know(socket);
      const open = this.#open.get(keyOf(socket));
      if (open !== undefined) open.isUpgraded = true;
    });
  }

  /** It has shown who it is. A refused upgrade closes its connection. */
  know(socket: Socket): void {
    const open = this.#open.get(keyOf(socket));
    if (open === undefined || open.known === true) return;
    open.known = true;
    this.#newcomers.delete(open);
    this.#count(open.group, -1);
  }

  /** Why this request is not served; the connection is to end then. */
  refusal(socket: Socket, url: string): Rejection | undefined {
    const open = this.#beyond.size === 0 ? undefined : this.#beyond.get(socket);
    if (open === undefined) return undefined;
    if (!this.#isOver(open)) {
      this.#beyond.delete(socket);
      this.#newcomers.delete(open);
      return undefined;
    }
    if (this.#always(url.split('?', 1)[0] ?? '')) return undefined;
    this.refused += 1;
    return open.beyond === 'address' ? this.#tooMany(open.group) : this.#scarce();
  }

  /** A connection that came over a limit is for one request. */
  isBeyond(socket: Socket): boolean {
    return this.#beyond.size > 0 && this.#beyond.has(socket);
  }

  /** The server stops: what is answered now is the last of its connection. */
  close(): void {
    this.#isClosing = true;
    this.descriptors.close();
  }

  #awaited(): readonly Socket[] {
    return [...this.#open.values()].flatMap(({ socket, secure = socket, isUpgraded }) =>
      isUpgraded !== true && secure.writableLength > 0 ? [secure] : [],
    );
  }

  #accept(socket: Socket): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined) return void socket.destroy();
    const open: Open = { socket, key: keyOf(socket), group: addressGroup(remoteAddress) };
    this.#open.set(open.key, open);
    const ofGroup = this.#count(open.group, 1);
    socket.once('close', () => this.#forget(open));
    const exempt = this.#limits.isExempt(remoteAddress);
    if (this.descriptors.scarce) this.#makeRoom(open);
    else if (this.#warned) this.#warned = false;
    if (open.beyond === undefined && !exempt && ofGroup > this.#limits.perAddress) open.beyond = 'address';
    if (open.beyond !== undefined) this.#beyond.set(socket, open);
    // Agents behind one address may come all at once, so that the limit is not the end at once.
    if (!exempt && ofGroup > 2 * this.#limits.perAddress) {
      this.refused += 1;
      socket.destroy();
    }
  }

  /** For Node 26 a connection is idle before its first request, too; whoever has sent nothing yet is judged by what it will ask for. */
  #sweep(): void {
    const silent = [...this.#open.values()]
      .map(({ socket, secure = socket }) => secure)
      .filter(({ bytesRead }) => bytesRead === 0);
    sparing(silent, this.#closeIdle);
  }

  #makeRoom(open: Open): void {
    open.beyond = 'process';
    this.#newcomers.add(open);
    const now = performance.now();
    if (now - this.#sweptMs > SWEEP_MS) {
      this.#sweptMs = now;
      this.#sweep();
    }
    if (!this.#warned) {
      const { used, limit, reserved } = this.descriptors;
      this.#log.warn({ used, limit, reserved }, 'descriptors are scarce: only health and agents get in');
      this.#warned = true;
    }
    if (this.#newcomers.size <= Math.max(FEWEST_NEWCOMERS, this.descriptors.reserved / 2)) return;
    const [oldest] = this.#newcomers;
    if (oldest === undefined) return;
    this.#newcomers.delete(oldest);
    this.refused += 1;
    oldest.socket.destroy();
  }

  #isOver({ beyond, group, known }: Open): boolean {
    if (known === true) return false;
    if (beyond === 'process') return this.descriptors.scarce;
    return (this.#ofGroup.get(group) ?? 0) > this.#limits.perAddress;
  }

  #count(group: string, by: 1 | -1): number {
    const count = (this.#ofGroup.get(group) ?? 0) + by;
    if (count === 0) this.#ofGroup.delete(group);
    else this.#ofGroup.set(group, count);
    return count;
  }

  #forget(open: Open): void {
    this.#open.delete(open.key);
    this.#newcomers.delete(open);
    this.#beyond.delete(open.socket);
    if (open.known !== true) this.#count(open.group, -1);
  }

  #tooMany(group: string): Rejection {
    const { perAddress } = this.#limits;
    return {
      ...reject('connection_limit_reached', {
        field: 'connection',
        received: `${this.#ofGroup.get(group) ?? 0} connections from ${group}`,
        expected: `at most ${perAddress} connections of one address at once`,
        why: 'This address holds as many connections as one address may; keep them open and use them again, or close what is idle.',
      }),
      retryAfterSeconds: RETRY_SECONDS,
    };
  }

  #scarce(): Rejection {
    return {
      ...reject('connection_limit_reached', {
        field: 'connection',
        received: `${this.#open.size} connections in all`,
        expected: 'fewer connections to this control plane',
        why: 'The control plane has no more descriptors than it keeps for health, agents and its store.',
      }),
      status: 503,
      retryAfterSeconds: RETRY_SECONDS,
    };
  }
}

function sparing(sockets: readonly Socket[], close: () => void): void {
  for (const socket of sockets) socket.destroy = () => socket;
  close();
  for (const socket of sockets) Reflect.deleteProperty(socket, 'destroy');
}
