import type { AuditRecord, EventRecord } from '../../../core/model/event.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { KEPT_DAYS } from '../../../core/model/kept-failure.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Controller, ControllerDeps } from '../controller.ts';

export interface EventsKept {
  readonly keepDays: number;
  /** Per tenant. */
  readonly keepCount: number;
}

/** Lines older than this leave the store once `export` has them on disk. */
export interface AuditKept {
  readonly keepDays: number;
  export(tenantId: TenantId, records: readonly AuditRecord[]): Promise<void>;
}

/** Who still needs events that are about to go. */
export interface EventsHolder {
  /** Everything that is needed of them is kept elsewhere when it resolves. */
  release(tenantId: TenantId, events: readonly Stored<EventRecord>[]): Promise<void>;
}

export interface AuditSize {
  readonly records: number;
  readonly bytes: number;
}

const DAY_MS = 86_400_000;
export const EVENTS_KEPT: EventsKept = { keepDays: 7, keepCount: 10_000 };
const ROUND_MS = 600_000;
const NOTHING_COUNTED = { upTo: undefined, records: 0, bytes: 0 } as const;
/** Records read and removed at a time, so that neither the store nor requests wait for the janitor. */
const STEP = 100;

/** Of the audit of one tenant, up to the last line that was counted: lines only come at its end. */
interface Counted {
  readonly upTo: string | undefined;
  readonly records: number;
  readonly bytes: number;
}

/** Removes old events and failures, exported lines of the audit, answers kept for `Idempotency-Key` and sessions that are over, in bounded steps. */
export class Janitor implements Controller {
  readonly name = 'janitor';
  readonly #deps: ControllerDeps;
  readonly #kept: EventsKept;
  #cancel: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #running = false;
  #removed = 0;
  readonly #audit: AuditKept | undefined;
  readonly #holder: EventsHolder | undefined;
  readonly #counted = new Map<TenantId, Counted>();

  constructor(deps: ControllerDeps, kept = EVENTS_KEPT, audit?: AuditKept, holder?: EventsHolder) {
    this.#holder = holder;
    this.#deps = deps;
    this.#kept = kept;
    this.#audit = audit;
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

  /** The next round covers the tenants that are here then. */
  adopt(): void {}

  abandon(): void {}

  status(): Record<string, unknown> {
    return { removed: this.#removed, ...(this.#counted.size === 0 ? {} : { audit: this.auditSize() }) };
  }

  /** Of the tenants that this process owns, as of the last round. */
  auditSize(): AuditSize {
    let [records, bytes] = [0, 0];
    for (const counted of this.#counted.values()) {
      records += counted.records;
      bytes += counted.bytes;
    }
    return { records, bytes };
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
    const { store } = this.#deps;
    // A tenant may have nothing but its history.
    const tenants = store.listGlobal('tenants').map(({ record }) => record.id);
    for (const tenantId of new Set([...tenants, ...store.view.tenantIds()])) {
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
    await this.#trimFailures(tenant, nowMs - KEPT_DAYS * DAY_MS);
    await this.#countAudit(tenant);
    if (this.#audit !== undefined)
      await this.#trimAudit(tenant, this.#audit, nowMs - this.#audit.keepDays * DAY_MS);
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
      if (old.length > 0) await this.#holder?.release(tenant.tenantId, old);
      await this.#remove(
        tenant,
        'events',
        old.map(({ id }) => id),
      );
      if (old.length < STEP || !this.#running) return;
    }
  }

  async #trimFailures(tenant: TenantStore, oldestMs: number): Promise<void> {
    for (const stored of tenant.collection('failures').list()) {
      const old = stored.record.kept.filter(({ at }) => Date.parse(at) < oldestMs);
      if (old.length === 0) continue;
      const [name] = segmentsOf('failures', stored.id);
      const kept = stored.record.kept.filter((one) => !old.includes(one));
      const transaction = tenant.transaction().expect('failures', stored.id, stored);
      if (kept.length === 0) transaction.delete('failures', stored.id);
      else transaction.put('failures', stored.id, { ...stored.record, kept });
      for (const { instance, key } of old)
        transaction.deleteCold('failure-logs', idOf('failure-logs', name, instance, key));
      // One that changed meanwhile is looked at in the next round.
      await tenant.commit(transaction);
      this.#removed += old.length;
      if (!this.#running) return;
    }
  }

  async #countAudit(tenant: TenantStore): Promise<void> {
    let { upTo, records, bytes } = this.#counted.get(tenant.tenantId) ?? NOTHING_COUNTED;
    for (;;) {
      const { entries } = await tenant.rangeCold('audit', '', {
        limit: STEP,
        ...(upTo === undefined ? {} : { after: upTo }),
      });
      for (const { record } of entries) bytes += bytesOf(record);
      records += entries.length;
      upTo = entries.at(-1)?.id ?? upTo;
      this.#counted.set(tenant.tenantId, { upTo, records, bytes });
      if (entries.length < STEP || !this.#running) return;
      // A first round may have much to count.
      await new Promise(setImmediate);
    }
  }

  /** The oldest are at the front. What could not be exported stays and is retried in the next round. */
  async #trimAudit(tenant: TenantStore, audit: AuditKept, oldestMs: number): Promise<void> {
    for (;;) {
      const { entries } = await tenant.rangeCold('audit', '', { limit: STEP });
      const old = entries.filter(({ record }) => Date.parse(record.at) < oldestMs);
      if (old.length === 0) return;
      const lines = old.map(({ record }) => record);
      await audit.export(tenant.tenantId, lines);
      await this.#remove(
        tenant,
        'audit',
        old.map(({ id }) => id),
      );
      const counted = this.#counted.get(tenant.tenantId) ?? NOTHING_COUNTED;
      this.#counted.set(tenant.tenantId, {
        ...counted,
        records: counted.records - old.length,
        bytes: counted.bytes - lines.reduce((sum, line) => sum + bytesOf(line), 0),
      });
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

  async #remove(
    tenant: TenantStore,
    kind: 'events' | 'idempotency' | 'audit',
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    const transaction = tenant.transaction();
    for (const id of ids) transaction.deleteCold(kind, id);
    await tenant.commit(transaction);
    this.#removed += ids.length;
  }
}

function bytesOf(record: AuditRecord): number {
  return JSON.stringify(record).length;
}
