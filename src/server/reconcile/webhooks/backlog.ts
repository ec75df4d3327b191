import type { EventRecord } from '../../../core/model/event.ts';
import type { JournalPosition } from '../../../core/model/webhook.ts';
import type { TenantStore } from '../../store/store.ts';

export interface JournalEvent {
  /** Of its record. */
  readonly id: string;
  readonly revision: number;
  readonly record: EventRecord;
}

/** Held in memory of one webhook; what comes behind them stays in the journal until they are done. */
const HELD = 64;
const SLICE = 250;

export function isBefore(
  a: JournalPosition,
  { id, revision }: Pick<JournalEvent, 'id' | 'revision'>,
): boolean {
  return a.revision < revision || (a.revision === revision && a.event < id);
}

/**
 * The events that one webhook has still to send, in the order of the journal: the first of them in memory, and how many there are.
 * Filled from the journal, then kept up by what a watch brings, so that a webhook that keeps pace reads nothing twice.
 */
export class Backlog {
  readonly #wants: (event: EventRecord) => boolean;
  #queue: JournalEvent[] = [];
  #pending = 0;
  /** The journal holds more than the queue. */
  #hasMore = false;
  /** Everything up to this revision is counted; undefined: the journal was not read yet. */
  #upTo: number | undefined;
  /** What the watch brings while the journal is read. */
  #arriving: JournalEvent[] | undefined;
  #arrivedMore = 0;

  constructor(wants: (event: EventRecord) => boolean) {
    this.#wants = wants;
  }

  get first(): JournalEvent | undefined {
    return this.#queue[0];
  }

  get pending(): number {
    return this.#pending;
  }

  get isRead(): boolean {
    return this.#upTo !== undefined && !(this.#queue.length === 0 && this.#hasMore);
  }

  /** Done with everything that is there, `last` of it: where that ends. */
  settled(origin: string, last: string): JournalPosition | undefined {
    if (this.#upTo === undefined || this.#queue.length > 0 || this.#hasMore) return undefined;
    return { origin, revision: this.#upTo, event: last };
  }

  /** The first of them were sent, or given up. */
  drop(count: number): void {
    this.#queue.splice(0, count);
    this.#pending -= count;
  }

  /** As many of the first as are in memory and fit the condition. */
  leading(fits: (event: JournalEvent) => boolean): readonly JournalEvent[] {
    const end = this.#queue.findIndex((event) => !fits(event));
    return end === -1 ? [...this.#queue] : this.#queue.slice(0, end);
  }

  /** From the watch: events of one revision, in the order of their ids. True: there is something to send. */
  arrive(revision: number, events: readonly JournalEvent[]): boolean {
    if (this.#arriving !== undefined) {
      const wanted = events.filter(({ record }) => this.#wants(record));
      const room = HELD - this.#arriving.length;
      this.#arriving.push(...wanted.slice(0, room));
      this.#arrivedMore += Math.max(0, wanted.length - room);
      return false;
    }
    if (this.#upTo === undefined || revision <= this.#upTo) return false;
    for (const event of events) if (this.#wants(event.record)) this.#add(event);
    this.#upTo = revision;
    return this.#pending > 0;
  }

  #add(event: JournalEvent): void {
    this.#pending += 1;
    if (this.#hasMore || this.#queue.length >= HELD) this.#hasMore = true;
    else this.#queue.push(event);
  }

  /**
   * Reads what comes after the position. Of a store that was written anew (`origin`), revisions say nothing of the order in which events
   * came: there it is that of their ids. The watch has to be open already.
   */
  async read(tenant: TenantStore, position: JournalPosition, origin: string): Promise<void> {
    this.#arriving = [];
    this.#arrivedMore = 0;
    try {
      await this.#read(tenant, position, position.origin === origin);
    } finally {
      this.#arriving = undefined;
    }
  }

  async #read(tenant: TenantStore, position: JournalPosition, isByCommit: boolean): Promise<void> {
    const isAhead = (event: JournalEvent): boolean =>
      isByCommit ? isBefore(position, event) : event.id > position.event;
    const compare = (a: JournalEvent, b: JournalEvent): number =>
      (isByCommit ? a.revision - b.revision : 0) || (a.id < b.id ? -1 : 1);
    let upTo: number | undefined;
    let found: JournalEvent[] = [];
    let count = 0;
    let after: string | undefined;
    do {
      const { entries, revision } = await tenant.rangeCold('events', '', {
        limit: SLICE,
        ...(after !== undefined && { after }),
      });
      upTo ??= revision;
      const last = upTo;
      const ahead = entries
        .map(({ id, createRevision, record }) => ({ id, revision: createRevision, record }))
        // What was stored since the first slice comes by the watch.
        .filter((event) => event.revision <= last && isAhead(event) && this.#wants(event.record));
      count += ahead.length;
      found = [...found, ...ahead].sort(compare).slice(0, HELD);
      after = entries.length === SLICE ? entries.at(-1)?.id : undefined;
    } while (after !== undefined);
    this.#queue = found;
    this.#pending = count;
    this.#hasMore = count > found.length;
    const arrived = (this.#arriving ?? []).filter(({ revision }) => revision > upTo);
    for (const event of arrived) this.#add(event);
    if (this.#arrivedMore > 0) {
      this.#pending += this.#arrivedMore;
      this.#hasMore = true;
    }
    this.#upTo = Math.max(upTo, arrived.at(-1)?.revision ?? 0);
  }
}
