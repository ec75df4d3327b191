import type { TenantId } from '../../core/model/ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ViewChange } from '../store/view.ts';
import type { Controller, ControllerDeps } from './controller.ts';
import { KeyedQueue } from './queue.ts';

/** One record that is to be looked at. */
export interface Look {
  /** Of the record among those of all tenants. */
  readonly key: string;
  readonly tenantId: TenantId;
  readonly id: string;
}

interface ReconcilerOptions {
  readonly name: string;
  /** What is in the log when a look failed; it is tried again. */
  readonly problem: string;
  /** Looks at the same time. */
  readonly concurrency?: number;
  /** A look takes much memory: few of these are taken at the same time. */
  readonly isHeavy?: (look: Look) => boolean;
}

/** Whoever found no room looks again so long after some may have appeared: many changes make one attempt. */
const STIR_MS = 50;

function lookOf(key: string): Look {
  const slash = key.indexOf('/');
  return { key, tenantId: key.slice(0, slash) as TenantId, id: key.slice(slash + 1) };
}

/** What is remembered by `Look.key`. */
export class Remembered<T> extends Map<string, T> {
  /** Of the tenant, or of all. */
  forget(tenantId?: TenantId): void {
    if (tenantId === undefined) this.clear();
    else for (const key of this.keys()) if (lookOf(key).tenantId === tenantId) this.delete(key);
  }
}

/**
 * A controller that hears of changes, notes which records they concern and looks at each of them by itself: reads it anew, plans, and
 * commits under guards. It is never looked at twice at the same time, and again when a change came meanwhile, after a conflict or a fault.
 */
export abstract class Reconciler implements Controller {
  readonly name: string;
  protected readonly deps: ControllerDeps;
  readonly #queue: KeyedQueue;
  readonly #stirred = new Map<TenantId, () => void>();
  #unsubscribe: (() => void) | undefined;
  #conflicts = 0;

  constructor(deps: ControllerDeps, { name, problem, concurrency, isHeavy }: ReconcilerOptions) {
    this.name = name;
    this.deps = deps;
    this.#queue = new KeyedQueue(
      {
        work: (key) => this.#work(lookOf(key)),
        onFault: (key, fault) => {
          deps.metrics.committed(name, 'fault');
          deps.log(problem, { key, fault: String(fault) });
        },
        timers: deps.timers,
        ...(concurrency !== undefined && { concurrency }),
        ...(isHeavy && { isHeavy: (key: string) => isHeavy(lookOf(key)) }),
      },
      () => deps.clock.monotonicMs(),
    );
  }

  /** Adds whatever the change concerns. */
  protected abstract take(change: ViewChange): void;

  /** Adds everything of the tenant that may need a look. */
  abstract adopt(tenantId: TenantId): void;

  /** Only while this process decides for the tenant. */
  protected abstract look(look: Look): Promise<void>;

  /** What is remembered of the tenant, or of all of them. */
  protected forget(_tenantId?: TenantId): void {}

  /** Ids for which no node had room. */
  protected unplaced(_tenantId: TenantId): Iterable<string> {
    return [];
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
    this.#stirred.get(tenantId)?.();
    this.#stirred.delete(tenantId);
    this.forget(tenantId);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    for (const cancel of this.#stirred.values()) cancel();
    this.#stirred.clear();
    await this.#queue.stop();
    this.forget();
  }

  status(): Record<string, unknown> {
    return { queue: this.depth, conflicts: this.#conflicts };
  }

  /** Resolves when nothing is left to look at now; for tests and an orderly end. */
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

  protected again({ key }: Look, afterMs?: number): void {
    if (afterMs === undefined) this.#queue.add(key);
    else this.#queue.addAfter(key, afterMs);
  }

  /** Room may have appeared. */
  protected stir(tenantId: TenantId): void {
    if (this.#stirred.has(tenantId) || this.unplaced(tenantId)[Symbol.iterator]().next().done === true)
      return;
    this.#stirred.set(
      tenantId,
      this.deps.timers.after(STIR_MS, () => {
        this.#stirred.delete(tenantId);
        for (const id of this.unplaced(tenantId)) this.add(tenantId, id);
      }),
    );
  }

  protected decided(sinceMs: number): void {
    this.deps.metrics.decided(this.name, (this.deps.clock.monotonicMs() - sinceMs) / 1000);
  }

  /** False: something moved since it was read. */
  protected async commit(tenant: TenantStore, transaction: Transaction): Promise<boolean> {
    const { ok } = await tenant.commit(transaction);
    this.deps.metrics.committed(this.name, ok ? 'ok' : 'conflict');
    if (!ok) this.#conflicts += 1;
    return ok;
  }

  async #work(look: Look): Promise<void> {
    if (this.deps.owns(look.tenantId)) await this.look(look);
  }
}
