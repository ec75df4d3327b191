import type { TenantId } from '../../core/model/ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Controller, ControllerDeps } from './controller.ts';

export interface EventsKept {
  readonly keepDays: number;
  /** Per tenant. */
  readonly keepCount: number;
}

/** Decisions §8 and §1. The audit is kept. */
const DAY_MS = 86_400_000;
export const EVENTS_KEPT: EventsKept = { keepDays: 7, keepCount: 10_000 };
const ROUND_MS = 600_000;
/** Records read and removed at a time, so that neither the store nor requests wait for the janitor. */
const STEP = 100;

/** Removes old events, answers kept for `Idempotency-Key` and sessions that are over, in bounded steps. */
export class Janitor implements Controller {
  readonly name = 'janitor';
  readonly #deps: ControllerDeps;
  readonly #kept: EventsKept;
  #cancel: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #running = false;
  #removed = 0;

  constructor(deps: ControllerDeps, kept = EVENTS_KEPT) {
    this.#deps = deps;
    this.#kept = kept;
  }

  start(): void {
    this.#running = true;
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#running = false;
    this.#cancel?.();
    await this.#round;
  }

  /** The next round looks at whoever is here then. */
  adopt(): void {}

  abandon(): void {}

  status(): Record<string, unknown> {
    return { removed: this.#removed };
  }

  #schedule(): void {
    this.#cancel = this.#deps.timers.after(ROUND_MS, () => {
      this.#round = this.sweep()
        .catch((fault: unknown) =>
          this.#deps.log('old records could not be removed', { fault: String(fault) }),
        )
        .finally(() => this.#running && this.#schedule());
    });
  }

  /** One round over every tenant. */
  async sweep(): Promise<void> {
    await this.#endedSessions();
    for (const tenantId of this.#deps.store.view.tenantIds()) {
      if (!this.#running) return;
      if (this.#deps.owns(tenantId)) await this.#sweepTenant(tenantId);
    }
  }

  async #endedSessions(): Promise<void> {
    const { store, clock, owns } = this.#deps;
    const nowMs = clock.now().getTime();
    const ended = store
      .listGlobal('sessions')
      .filter(({ record }) => Date.parse(record.expiresAt) <= nowMs && owns(record.tenantId));
    for (const stored of ended) {
      const transaction = store.forTenant(stored.record.tenantId).transaction();
      await store.commit(
        transaction.expectGlobal('sessions', stored.id, stored).deleteGlobal('sessions', stored.id),
      );
      this.#removed += 1;
    }
  }

  async #sweepTenant(tenantId: TenantId): Promise<void> {
    const tenant = this.#deps.store.forTenant(tenantId);
    const nowMs = this.#deps.clock.now().getTime();
    await this.#trimEvents(tenant, nowMs - this.#kept.keepDays * DAY_MS);
    let after: string | undefined;
    do {
      const { entries } = await tenant.rangeCold('idempotency', '', {
        limit: STEP,
        ...(after !== undefined && { after }),
      });
      const expired = entries.filter(({ record }) => Date.parse(record.expiresAt) <= nowMs);
      await this.#remove(
        tenant,
        'idempotency',
        expired.map(({ id }) => id),
      );
      after = entries.length === STEP ? entries.at(-1)?.id : undefined;
    } while (after !== undefined && this.#running);
  }

  /** Ids sort by time: what is too old or too many is at the front, and the newest are counted from the back. */
  async #trimEvents(tenant: TenantStore, oldestMs: number): Promise<void> {
    const limit = await this.#firstSurplusEvent(tenant);
    for (;;) {
      const { entries } = await tenant.rangeCold('events', '', { limit: STEP });
      const old = entries.filter(({ id, record }) => {
        return Date.parse(record.at) < oldestMs || (limit !== undefined && id <= limit);
      });
      await this.#remove(
        tenant,
        'events',
        old.map(({ id }) => id),
      );
      if (old.length < STEP || !this.#running) return;
    }
  }

  /** The newest event that is one too many. */
  async #firstSurplusEvent(tenant: TenantStore): Promise<string | undefined> {
    const { keepCount } = this.#kept;
    let after: string | undefined;
    for (let counted = 0; counted <= keepCount; ) {
      const limit = Math.min(10 * STEP, keepCount + 1 - counted);
      if (limit === 0) break;
      const { entries } = await tenant.rangeCold('events', '', {
        limit,
        reverse: true,
        ...(after !== undefined && { after }),
      });
      counted += entries.length;
      after = entries.at(-1)?.id;
      if (entries.length < limit) return undefined;
    }
    return after;
  }

  async #remove(tenant: TenantStore, kind: 'events' | 'idempotency', ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const transaction = tenant.transaction();
    for (const id of ids) transaction.deleteCold(kind, id);
    await tenant.commit(transaction);
    this.#removed += ids.length;
  }
}
