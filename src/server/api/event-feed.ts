import type { EventRecord } from '../../core/model/event.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { KvChangeBatch, Watch } from '../store/kv.ts';
import { decodeRecord } from '../store/records.ts';
import type { TenantStore } from '../store/store.ts';
import { joinedPieces, type SharedPiece, sharedPiece } from './shared-piece.ts';

/** Which events a reader wants. Readers with the same key get the same bytes. */
export interface EventView {
  readonly key: string;
  readonly wants: (event: EventRecord) => boolean;
}

/** What one revision brought to a view, as it goes over the wire. */
export interface EventChunk {
  readonly revision: number;
  readonly events: number;
  readonly piece: SharedPiece;
}

/** What one turn of the event loop brought to a view, by revision; all of it in one piece, which most readers take. */
export interface EventRound {
  /** Its lowest revision. */
  readonly first: number;
  readonly chunks: readonly EventChunk[];
  readonly piece: SharedPiece;
}

export interface FeedReader {
  take(round: EventRound): void;
  /** Nothing more comes. */
  lost(): void;
}

export function eventFrame(event: EventRecord): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

interface Readers {
  readonly view: EventView;
  readonly present: Set<FeedReader>;
  /** Of this turn. */
  chunks: EventChunk[];
}

/** The events of one tenant as they come: one watch, each event decoded once and made a frame once, however many read it. */
class EventFeed {
  readonly #readers = new Map<string, Readers>();
  readonly #onEmpty: () => void;
  #watch: Watch | undefined;
  #handing: NodeJS.Immediate | undefined;
  #over = false;

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  async open(store: TenantStore): Promise<void> {
    const { revision } = await store.rangeCold('events', '', { limit: 1 });
    if (this.#over) return;
    this.#watch = store.watchCold('events', revision, {
      onBatch: (batch) => this.#pass(batch),
      onLost: () => this.end(),
    });
  }

  add(view: EventView, reader: FeedReader): void {
    const readers = this.#readers.get(view.key) ?? { view, present: new Set(), chunks: [] };
    readers.present.add(reader);
    this.#readers.set(view.key, readers);
  }

  remove(view: EventView, reader: FeedReader): void {
    const present = this.#readers.get(view.key)?.present;
    if (present?.delete(reader) === true && present.size === 0) this.#readers.delete(view.key);
    if (this.#readers.size === 0) this.end();
  }

  #pass({ revision, changes }: KvChangeBatch): void {
    // Commits that share a revision come in any order there: in that of their ids, what is watched is what a reader who resumes finds.
    const events = changes
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .flatMap(({ key, entry }) => (entry ? [decodeRecord<EventRecord>(key, entry.value)] : []));
    const frames = events.map(eventFrame);
    for (const readers of this.#readers.values()) {
      const { view, chunks } = readers;
      const wanted = frames.filter((_frame, at) => {
        const event = events[at];
        return event !== undefined && view.wants(event);
      });
      if (wanted.length === 0) continue;
      chunks.push({ revision, events: wanted.length, piece: sharedPiece(wanted.join('')) });
      if (this.#handing !== undefined) continue;
      // Not at once: whoever made the change is answered first, and a reader gets what a turn brought in one write.
      this.#handing = setImmediate(() => this.#hand());
    }
  }

  #hand(): void {
    clearImmediate(this.#handing);
    this.#handing = undefined;
    for (const readers of this.#readers.values()) {
      const { chunks, present } = readers;
      const [first] = chunks;
      if (first === undefined) continue;
      readers.chunks = [];
      const piece = joinedPieces(chunks.map((chunk) => chunk.piece));
      const round = { first: first.revision, chunks, piece };
      for (const reader of present) give(reader, round);
    }
  }

  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#watch?.close();
    this.#onEmpty();
    this.#hand();
    for (const { present } of this.#readers.values()) for (const reader of present) reader.lost();
  }
}

/** What goes wrong with one reader ends its stream, and not those of the others. */
function give(reader: FeedReader, round: EventRound): void {
  try {
    reader.take(round);
  } catch {
    reader.lost();
  }
}

interface OpenFeed {
  readonly feed: EventFeed;
  readonly opened: Promise<void>;
}

/** A feed for each tenant whose events somebody reads here. */
export class EventFeeds {
  readonly #feeds = new Map<TenantId, OpenFeed>();
  #isClosed = false;

  /** Nobody is told anything any more: readers go on elsewhere, or here once there is a control plane again. */
  close(): void {
    this.#isClosed = true;
    for (const { feed } of this.#feeds.values()) feed.end();
  }

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
    if (this.#isClosed) feed.end();
    return leave;
  }

  #open(store: TenantStore): OpenFeed {
    const feed = new EventFeed(() => this.#feeds.delete(store.tenantId));
    const open = { feed, opened: feed.open(store) };
    this.#feeds.set(store.tenantId, open);
    return open;
  }
}
