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
const SLICE = 100;

export function isBefore(
  a: JournalPosition,
  { id, revision }: Pick<JournalEvent, 'id' | 'revision'>,
): boolean {
  return a.revision < revision || (a.revision === revision && a.event < id);
}

/** Where events lie that are not in memory: between these ids, among others. `first` of them comes before all the others. */
interface Stretch {
  from: string;
  to: string;
  readonly first: Place;
  count: number;
}

type Place = Pick<JournalEvent, 'id' | 'revision'>;
/** What came by the watch while the journal was read; those beyond what is held in memory without their record. */
type Arrived = Place & Partial<Pick<JournalEvent, 'record'>>;

/**
 * The events that one webhook has still to send, in the order of the journal: the first of them in memory, of the others where they lie, and how many
 * there are. The journal is looked through once; from then on it is read from where the next ones lie, and kept up by what a watch brings, so that
 * catching up takes as long as there are events, and a webhook that keeps pace reads nothing twice.
 */
export class Backlog {
  readonly #wants: (event: EventRecord) => boolean;
  #queue: JournalEvent[] = [];
  #pending = 0;
  /** In the order of their first events. */
  #stretches: Stretch[] = [];
  /** Everything up to this revision is counted; undefined: the journal was not read yet. */
  #upTo: number | undefined;
  /** Everything up to here was in memory. */
  #last: Place | undefined;
  /** Up to this revision events of a store that was written anew have the order of their ids; 0: none have. */
  #rewrittenTo = 0;
  #origins = { before: '', now: '' };
  #arriving: Arrived[] | undefined;

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
    return this.#upTo !== undefined && (this.#queue.length > 0 || this.#pending === 0);
  }

  /** Done with everything that is there, `last` of it: where that ends. */
  settled(origin: string, last: string): JournalPosition | undefined {
    if (this.#upTo === undefined || this.#pending > 0) return undefined;
    return { origin, revision: this.#upTo, event: last };
  }

  /** Where one is that has sent everything up to this event. */
  positionAfter({ revision, id }: Place): JournalPosition {
    const { before, now } = this.#origins;
    return { origin: revision <= this.#rewrittenTo ? before : now, revision, event: id };
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
    const wanted = events.filter(({ record }) => this.#wants(record));
    if (this.#arriving !== undefined) {
      for (const { id, record } of wanted)
        this.#arriving.push({ id, revision, ...(this.#arriving.length < HELD && { record }) });
      return false;
    }
    if (this.#upTo === undefined || revision <= this.#upTo) return false;
    for (const event of wanted) this.#add(event);
    this.#upTo = revision;
    return this.#pending > 0;
  }

  #add({ id, revision, record }: Arrived): void {
    const isNext = this.#pending === this.#queue.length && this.#queue.length < HELD;
    this.#pending += 1;
    if (isNext && record !== undefined) {
      this.#queue.push({ id, revision, record });
      this.#last = { id, revision };
    } else this.#lies({ id, revision });
  }

  /** Behind all others that are known. */
  #lies({ id, revision }: Place): void {
    const end = this.#stretches.at(-1);
    if (end === undefined || end.count >= SLICE) {
      this.#stretches.push({ from: id, to: id, first: { id, revision }, count: 1 });
      return;
    }
    end.count += 1;
    if (id < end.from) end.from = id;
    if (id > end.to) end.to = id;
  }

  #compare(a: Place, b: Place): number {
    const rank = ({ revision }: Place): number => (revision <= this.#rewrittenTo ? 0 : revision);
    return rank(a) - rank(b) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  }

  /**
   * Reads what comes after the position. Of a store that was written anew (`origin`), revisions say nothing of the order in which events
   * came: there it is that of their ids, up to the first read. The watch has to be open already.
   */
  async read(tenant: TenantStore, position: JournalPosition, origin: string): Promise<void> {
    this.#arriving = [];
    try {
      this.#upTo ??= await this.#lookThrough(tenant, position, origin);
      await this.#fill(tenant, this.#upTo);
      this.#follow(this.#upTo, this.#arriving);
    } catch (error) {
      // Where they lie is half known: looked through again, from what is stored.
      this.#upTo = undefined;
      throw error;
    } finally {
      this.#arriving = undefined;
    }
  }

  #follow(upTo: number, arrived: readonly Arrived[]): void {
    for (const event of arrived) if (event.revision > upTo) this.#add(event);
    this.#upTo = Math.max(upTo, arrived.at(-1)?.revision ?? 0);
  }

  /** Up to which revision it is known. */
  async #lookThrough(tenant: TenantStore, position: JournalPosition, origin: string): Promise<number> {
    const isByCommit = position.origin === origin;
    const isAhead = (event: JournalEvent): boolean =>
      isByCommit ? isBefore(position, event) : event.id > position.event;
    this.#origins = { before: position.origin, now: origin };
    const stretches: Stretch[] = [];
    let upTo: number | undefined;
    let count = 0;
    let after: string | undefined;
    do {
      const { entries, revision } = await tenant.rangeCold('events', '', {
        limit: SLICE,
        ...(after !== undefined && { after }),
      });
      upTo ??= revision;
      this.#rewrittenTo = isByCommit ? 0 : upTo;
      const last = upTo;
      const ahead = entries
        .map(({ id, createRevision, record }) => ({ id, revision: createRevision, record }))
        // What was stored since the first slice comes by the watch.
        .filter((event) => event.revision <= last && isAhead(event) && this.#wants(event.record));
      count += ahead.length;
      const stretch = this.#stretchOf(ahead);
      if (stretch !== undefined) stretches.push(stretch);
      after = entries.length === SLICE ? entries.at(-1)?.id : undefined;
    } while (after !== undefined);
    this.#stretches = stretches.sort((a, b) => this.#compare(a.first, b.first));
    this.#pending = count;
    this.#last = isByCommit ? { id: position.event, revision: position.revision } : undefined;
    return upTo;
  }

  #stretchOf(events: readonly Place[]): Stretch | undefined {
    const [first] = events.toSorted((a, b) => this.#compare(a, b));
    const ids = events.map(({ id }) => id).sort();
    const [from] = ids;
    const to = ids.at(-1);
    if (first === undefined || from === undefined || to === undefined) return undefined;
    return { from, to, first: { id: first.id, revision: first.revision }, count: events.length };
  }

  /** The next ones, from where they lie. */
  async #fill(tenant: TenantStore, upTo: number): Promise<void> {
    let found: JournalEvent[] = [];
    const firstOf = (events: JournalEvent[]): JournalEvent[] =>
      events.sort((a, b) => this.#compare(a, b)).slice(0, HELD);
    const waiting = new Set<string>();
    const read: Place[][] = [];
    for (;;) {
      const [next] = this.#stretches;
      const held = found[HELD - 1];
      if (next === undefined || (held !== undefined && this.#compare(held, next.first) < 0)) break;
      const here: Place[] = [];
      for await (const event of this.#between(tenant, upTo, next)) {
        const { id, revision } = event;
        if (waiting.has(id)) continue;
        waiting.add(id);
        here.push({ id, revision });
        found.push(event);
        if (found.length > HELD + SLICE) found = firstOf(found);
      }
      found = firstOf(found);
      read.push(here);
      this.#stretches = this.#stretches.flatMap((other) => beside(other, next));
    }
    for (const { id } of found) waiting.delete(id);
    // Each by itself: what lies far apart, by clocks that differ, would be read with everything between.
    for (const here of read)
      this.#stretches.push(...this.#stretchesOf(here.filter(({ id }) => waiting.has(id))));
    this.#stretches.sort((a, b) => this.#compare(a.first, b.first));
    this.#queue = found;
    this.#last = this.#queue.at(-1) ?? this.#last;
    // What the journal lost meanwhile is waited for no longer.
    if (this.#stretches.length === 0) this.#pending = this.#queue.length;
  }

  /** Of events in the order of their ids. */
  #stretchesOf(events: readonly Place[]): readonly Stretch[] {
    const all: Stretch[] = [];
    for (let at = 0; at < events.length; at += SLICE) {
      const stretch = this.#stretchOf(events.slice(at, at + SLICE));
      if (stretch !== undefined) all.push(stretch);
    }
    return all;
  }

  async *#between(
    tenant: TenantStore,
    upTo: number,
    { from, to }: Stretch,
  ): AsyncGenerator<JournalEvent, void, undefined> {
    const isNext = (event: JournalEvent): boolean =>
      (this.#last === undefined || this.#compare(this.#last, event) < 0) &&
      event.revision <= upTo &&
      this.#wants(event.record);
    const first = await tenant.getCold('events', from);
    let entries = first === undefined ? [] : [first];
    for (let after: string | undefined = from; ; ) {
      for (const { id, createRevision, record } of entries) {
        const event = { id, revision: createRevision, record };
        if (id <= to && isNext(event)) yield event;
      }
      if (after === undefined || after >= to) return;
      ({ entries } = await tenant.rangeCold('events', '', { limit: SLICE, after }));
      after = entries.length === SLICE ? entries.at(-1)?.id : undefined;
    }
  }
}

/** What is left of a stretch when everything of another one was read, which may lie across it. */
function beside(stretch: Stretch, { from, to }: Stretch): readonly Stretch[] {
  if (stretch.to < from || stretch.from > to) return [stretch];
  if (stretch.from < from && stretch.to > to) return [stretch];
  if (stretch.from < from) return [{ ...stretch, to: from }];
  if (stretch.to > to) return [{ ...stretch, from: to }];
  return [];
}
