import { type TenantId, tenantId } from '../../core/model/ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ViewChange } from '../store/view.ts';
import type { Controller, ControllerDeps } from './controller.ts';
import { KeyedQueue } from './queue.ts';

/** One record to reconcile. */
export interface ReconcileRequest {
  /** Unique across tenants. */
  readonly key: string;
  readonly tenantId: TenantId;
  readonly id: string;
}

interface ReconcilerOptions {
  readonly name: string;
  /** Logged when a reconcile fails; it is retried. */
  readonly problem: string;
  /** Reconciles at the same time. */
  readonly concurrency?: number;
  /** Reconciling it takes much memory, so few of these run at the same time. */
  readonly isHeavy?: (request: ReconcileRequest) => boolean;
  /** Reconciling it takes many times as long as most: others do not wait behind a row of these. */
  readonly isLarge?: (request: ReconcileRequest) => boolean;
  /** Nothing more begins while it says so and something is under way. */
  readonly isFull?: () => boolean;
}

/** Delay of the retry after capacity may have appeared, so that many changes cause one retry. */
const RETRY_UNPLACED_MS = 50;

function requestOf(key: string): ReconcileRequest {
  const slash = key.indexOf('/');
  return { key, tenantId: tenantId(key.slice(0, slash)), id: key.slice(slash + 1) };
}

/** In-memory state by `ReconcileRequest.key`. */
export class KeyedState<T> extends Map<string, T> {
  /** Of the tenant, or of all. */
  forget(tenantId?: TenantId): void {
    if (tenantId === undefined) this.clear();
    else for (const key of this.keys()) if (requestOf(key).tenantId === tenantId) this.delete(key);
  }
}

/**
 * A controller that maps changes to records and reconciles each record on its own: read, plan, commit under guards. A record is
 * never reconciled twice at the same time; a change meanwhile, a conflict or a fault re-queues it.
 */
export abstract class Reconciler implements Controller {
  readonly name: string;
  protected readonly deps: ControllerDeps;
  readonly #queue: KeyedQueue;
  readonly #unplacedRetries = new Map<TenantId, () => void>();
  #unsubscribe: (() => void) | undefined;
  #conflicts = 0;

  constructor(
    deps: ControllerDeps,
    { name, problem, concurrency, isHeavy, isLarge, isFull }: ReconcilerOptions,
  ) {
    this.name = name;
    this.deps = deps;
    this.#queue = new KeyedQueue(
      {
        work: (key) => this.#work(requestOf(key)),
        turned: () => this.turned(),
        onFault: (key, fault) => {
          deps.metrics.committed(name, 'fault');
          deps.log(problem, { key, fault: String(fault) });
        },
        timers: deps.timers,
        ...(concurrency !== undefined && { concurrency }),
        ...(isFull && { isFull }),
        ...(isHeavy && { isHeavy: (key: string) => isHeavy(requestOf(key)) }),
        ...(isLarge && { isLarge: (key: string) => isLarge(requestOf(key)) }),
      },
      () => deps.clock.monotonicMs(),
    );
  }

  /** Queues the records that the change concerns. */
  protected abstract take(change: ViewChange): void;

  /** Queues everything of the tenant. */
  abstract adopt(tenantId: TenantId): void;

  /** Called only while this process owns the tenant's shard. */
  protected abstract reconcile(request: ReconcileRequest): Promise<void>;

  /** What one turn of the event loop reconciles has been begun, each record up to its first pause. */
  protected turned(): void {}

  /** Drops the in-memory state of the tenant, or of all. */
  protected forget(_tenantId?: TenantId): void {}

  /** Ids that no node had capacity for. */
  protected unplaced(_tenantId: TenantId): Iterable<string> {
    return [];
  }

  protected get isRunning(): boolean {
    return this.#unsubscribe !== undefined;
  }

  get depth(): number {
    return this.#queue.depth;
  }

  start(): void {
    const { store, owns } = this.deps;
    this.#unsubscribe = store.view.onChange((change) => this.take(change));
    for (const tenantId of store.view.tenantIds().filter(owns)) this.adopt(tenantId);
  }

  abandon(tenantId: TenantId): void {
    this.#unplacedRetries.get(tenantId)?.();
    this.#unplacedRetries.delete(tenantId);
    this.forget(tenantId);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    for (const cancel of this.#unplacedRetries.values()) cancel();
    this.#unplacedRetries.clear();
    await this.#queue.stop();
    this.forget();
  }

  status(): Record<string, unknown> {
    return { queue: this.depth, conflicts: this.#conflicts };
  }

  /** Resolves when the queue is empty; for tests and graceful shutdown. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  protected keyOf(tenantId: TenantId, id: string): string {
    return `${tenantId}/${id}`;
  }

  /** `afterMs`: the earlier of two times wins. */
  protected add(tenantId: TenantId, id: string, afterMs?: number): void {
    if (!this.deps.owns(tenantId)) return;
    if (afterMs === undefined) this.#queue.add(this.keyOf(tenantId, id));
    else this.#queue.addAfter(this.keyOf(tenantId, id), afterMs);
  }

  protected again({ key }: ReconcileRequest, afterMs?: number): void {
    if (afterMs === undefined) this.#queue.add(key);
    else this.#queue.addAfter(key, afterMs);
  }

  /** Re-queues what no node had capacity for: capacity may have appeared. */
  protected retryUnplaced(tenantId: TenantId): void {
    if (
      this.#unplacedRetries.has(tenantId) ||
      this.unplaced(tenantId)[Symbol.iterator]().next().done === true
    )
      return;
    this.#unplacedRetries.set(
      tenantId,
      this.deps.timers.after(RETRY_UNPLACED_MS, () => {
        this.#unplacedRetries.delete(tenantId);
        for (const id of this.unplaced(tenantId)) this.add(tenantId, id);
      }),
    );
  }

  protected decided(sinceMs: number): void {
    this.deps.metrics.decided(this.name, (this.deps.clock.monotonicMs() - sinceMs) / 1000);
  }

  /** False: a record changed since it was read. */
  protected async commit(tenant: TenantStore, transaction: Transaction): Promise<boolean> {
    const { ok } = await tenant.commit(transaction);
    this.committed(ok);
    return ok;
  }

  protected committed(ok: boolean): void {
    this.deps.metrics.committed(this.name, ok ? 'ok' : 'conflict');
    if (!ok) this.#conflicts += 1;
  }

  async #work(request: ReconcileRequest): Promise<void> {
    if (!this.deps.owns(request.tenantId)) return;
    const { clock, metrics } = this.deps;
    const startMs = clock.monotonicMs();
    await this.reconcile(request);
    metrics.reconciled(this.name, (clock.monotonicMs() - startMs) / 1000);
  }
}
