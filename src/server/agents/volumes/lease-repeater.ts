import { ownFiles } from '../../own-files.ts';
import { randomBytes } from 'node:crypto';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { LeaseRepeat } from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { Clock } from '../../clock.ts';
import type { StoreView } from '../../store/view.ts';
import { threadHeap } from '../../thread-heaps.ts';
import { LeasePermit, newPermit } from './lease-permit.ts';
import type { FromLeaseThread, LeaseThreadData, ToLeaseThread } from './lease-thread.ts';
import { nodeKey } from '../assignments/placed-instances.ts';
import type { AgentSession } from '../sessions/session.ts';

/** The thread repeats a lease of the control plane for this long: an event loop that is blocked longer does not recover. */
const REPEATED_FOR_NS = 60_000_000_000n;

interface Registration {
  readonly session: AgentSession;
  readonly permit: LeasePermit;
  readonly repeat: LeaseRepeat;
}

/** The control plane's side of the thread that repeats its leases; the thread's times are turned into those of `clock`. */
export class LeaseRepeater {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #address: LeaseThreadData;
  readonly #byNode = new Map<string, Registration>();
  readonly #unsubscribe: () => void;
  #begun = false;
  #worker: Worker | undefined;
  #port: number | undefined;

  /** The thread is started with the first volume: it takes memory that a control plane without volumes has no use for. */
  constructor(view: StoreView, address: LeaseThreadData, clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    this.#address = address;
    this.#unsubscribe = view.onChange(({ kind, after }) => {
      if (kind === 'volumes' && after !== undefined) this.#start();
    });
  }

  /** Once. Without it leases are given in sessions alone: a port in use, or no room for a thread, is logged and stops nothing. */
  #start(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#unsubscribe();
    const thread = `./lease-thread${extname(import.meta.url)}`;
    try {
      ownFiles.require('the thread that repeats leases');
      const settings = { workerData: this.#address, execArgv: [], resourceLimits: threadHeap() };
      this.#follow(new Worker(new URL(thread, import.meta.url), settings));
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#log.warn(
      { err: error, ...this.#address },
      'leases of volumes are not repeated by a thread of their own',
    );
    this.#port = undefined;
  }

  #follow(worker: Worker): void {
    this.#worker = worker;
    worker.unref();
    worker.once('message', ({ port }: FromLeaseThread) => {
      this.#port = port;
    });
    worker.once('error', (error) => this.#failed(error));
  }

  /** A lease was given in the session: from now on it may be repeated. Undefined: there is no thread, or not yet. */
  given(session: AgentSession): LeaseRepeat | undefined {
    // After a restore leases are given for volumes of which the store has no record.
    this.#start();
    if (this.#port === undefined) return undefined;
    let registration = this.#byNode.get(session.key);
    if (registration?.session !== session) {
      if (registration !== undefined) this.close(registration.session);
      registration = this.#open(session, this.#port);
    }
    registration.permit.allowUntil(process.hrtime.bigint() + REPEATED_FOR_NS);
    return registration.repeat;
  }

  #open(session: AgentSession, port: number): Registration {
    const id = randomBytes(16).toString('hex');
    const key = randomBytes(32);
    const shared = newPermit();
    const registration = {
      session,
      permit: new LeasePermit(shared),
      repeat: { port, id, key: key.toString('base64url') },
    };
    this.#byNode.set(session.key, registration);
    this.#post({ kind: 'open', id, key, permit: shared });
    return registration;
  }

  #post(message: ToLeaseThread): void {
    this.#worker?.postMessage(message);
  }

  /** When the last one was repeated to the node; undefined: none was. */
  lastMs(tenantId: TenantId, node: string): number | undefined {
    return this.#msOf(this.#byNode.get(nodeKey(tenantId, node))?.permit.given ?? 0n);
  }

  /** None is repeated to the node from here on, until the control plane has given it one again. */
  stop(tenantId: TenantId, node: string): number | undefined {
    return this.#msOf(this.#byNode.get(nodeKey(tenantId, node))?.permit.stop() ?? 0n);
  }

  /** The session ended. Answers when the last one was repeated in it. */
  close(session: AgentSession): number | undefined {
    const registration = this.#byNode.get(session.key);
    if (registration?.session !== session) return undefined;
    this.#byNode.delete(session.key);
    const last = registration.permit.stop();
    this.#post({ kind: 'close', id: registration.repeat.id });
    return this.#msOf(last);
  }

  #msOf(ns: bigint): number | undefined {
    if (ns === 0n) return undefined;
    return this.#clock.monotonicMs() - Number(process.hrtime.bigint() - ns) / 1e6;
  }

  async end(): Promise<void> {
    this.#unsubscribe();
    for (const { permit } of this.#byNode.values()) permit.stop();
    await this.#worker?.terminate();
  }
}
