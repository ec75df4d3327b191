import type { EventRecord } from '../../../core/model/event.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { KvChangeBatch, Watch } from '../../store/kv.ts';
import { idOf } from '../../store/record-ids.ts';
import { decodeRecord } from '../../store/records.ts';
import type { TenantStore } from '../../store/store.ts';
import type { JournalEvent } from './backlog.ts';

interface Listener {
  /** Of one revision, in the order of their ids. */
  readonly onEvents: (tenant: TenantStore, revision: number, events: readonly JournalEvent[]) => void;
  /** What came meanwhile is in the journal. */
  readonly onLost: (tenantId: TenantId) => void;
}

/** One watch of the journal for each tenant that has webhooks, however many it has. */
export class JournalWatches {
  readonly #listener: Listener;
  readonly #watches = new Map<TenantId, Promise<Watch>>();

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  /** Resolves when nothing of what is stored from now on is missed. */
  async open(tenant: TenantStore): Promise<void> {
    const { tenantId } = tenant;
    const known = this.#watches.get(tenantId);
    const opened = known ?? this.#begin(tenant);
    if (known === undefined) {
      this.#watches.set(tenantId, opened);
      opened.catch(() => this.#watches.delete(tenantId));
    }
    await opened;
  }

  async #begin(tenant: TenantStore): Promise<Watch> {
    const { revision } = await tenant.rangeCold('events', '', { limit: 1 });
    return tenant.watchCold('events', revision, {
      onBatch: (batch) => this.#arrived(tenant, batch),
      onLost: () => {
        this.close(tenant.tenantId);
        this.#listener.onLost(tenant.tenantId);
      },
    });
  }

  #arrived(tenant: TenantStore, { revision, changes }: KvChangeBatch): void {
    const events = changes
      .flatMap(({ key, entry }) =>
        entry ? [{ revision, record: decodeRecord<EventRecord>(key, entry.value) }] : [],
      )
      .map((event) => ({ ...event, id: idOf('events', event.record.id) }))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    if (events.length > 0) this.#listener.onEvents(tenant, revision, events);
  }

  /** Absent: of all tenants. */
  close(tenantId?: TenantId): void {
    for (const one of tenantId === undefined ? [...this.#watches.keys()] : [tenantId]) {
      void this.#watches.get(one)?.then(
        (watch) => watch.close(),
        () => undefined,
      );
      this.#watches.delete(one);
    }
  }
}
