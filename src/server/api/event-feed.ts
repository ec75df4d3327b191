import type { EventRecord } from '../../core/model/event.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { KvChangeBatch, Watch } from '../store/kv.ts';
import { decodeRecord } from '../store/records.ts';
import type { TenantStore } from '../store/store.ts';

/** Which events a reader wants. Readers with the same key get the same bytes. */
export interface EventView {
  readonly key: string;
  readonly wants: (event: EventRecord) => boolean;
}

/** What one revision brought to a view, as it goes over the wire. */
export interface EventChunk {
  readonly revision: number;
  readonly events: number;
  readonly bytes: Uint8Array;
}

export interface FeedReader {
  take(chunk: EventChunk): void;
  /** Nothing more comes. */
  lost(): void;
}

export function eventFrame(event: EventRecord): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

interface Readers {
  readonly view: EventView;
  readonly present: Set<FeedReader>;
}

/** The events of one tenant as they come: one watch, each event decoded once and made a frame once, however many read it. */
class EventFeed {
  readonly #readers = new Map<string, Readers>();
  readonly #onEmpty: () => void;
  #watch: Watch | undefined;
  #over = false;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  async open(store: TenantStore): Promise<void> {
    const { revision } = await store.rangeCold('events', '', { limit: 1 });
    if (this.#over) return;
    this.#watch = store.watchCold('events', revision, {
      onBatch: (batch) => this.#pass(batch),
      onLost: () => this.#end(),
    });
  }

  add(view: EventView, reader: FeedReader): void {
    const readers = this.#readers.get(view.key) ?? { view, present: new Set() };
    readers.present.add(reader);
    this.#readers.set(view.key, readers);
  }

  remove(view: EventView, reader: FeedReader): void {
    const present = this.#readers.get(view.key)?.present;
    if (present?.delete(reader) === true && present.size === 0) this.#readers.delete(view.key);
    if (this.#readers.size === 0) this.#end();
  }

  #pass({ revision, changes }: KvChangeBatch): void {
    // Commits that share a revision come in any order there: in that of their ids, what is watched is what a reader who resumes finds.
    const events = changes
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .flatMap(({ key, entry }) => (entry ? [decodeRecord<EventRecord>(key, entry.value)] : []));
    const frames = events.map(eventFrame);
    for (const { view, present } of this.#readers.values()) {
      const wanted = frames.filter((_frame, at) => {
        const event = events[at];
        return event !== undefined && view.wants(event);
      });
      if (wanted.length === 0) continue;
      const chunk = { revision, events: wanted.length, bytes: Buffer.from(wanted.join('')) };
      for (const reader of present) reader.take(chunk);
    }
  }

  #end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#watch?.close();
    this.#onEmpty();
    for (const { present } of this.#readers.values()) for (const reader of present) reader.lost();
  }
}

interface OpenFeed {
  readonly feed: EventFeed;
  readonly opened: Promise<void>;
}

/** A feed for each tenant whose events somebody reads here. */
export class EventFeeds {
  readonly #feeds = new Map<TenantId, OpenFeed>();

  /** From now on the reader takes every event that is not yet stored, and maybe a few that are. Answers what ends that. */
  async join(store: TenantStore, view: EventView, reader: FeedReader): Promise<() => void> {
    const { feed, opened } = this.#feeds.get(store.tenantId) ?? this.#open(store);
    feed.add(view, reader);
    const leave = (): void => feed.remove(view, reader);
    try {
      await opened;
    } catch (fault) {
      leave();
      throw fault;
    }
    return leave;
  }

  #open(store: TenantStore): OpenFeed {
    const feed = new EventFeed(() => this.#feeds.delete(store.tenantId));
    const open = { feed, opened: feed.open(store) };
    this.#feeds.set(store.tenantId, open);
    return open;
  }
}
