import type { EventRecord } from '../../core/model/event.ts';
import { idOf } from '../store/record-ids.ts';
import {
  type EventChunk,
  type EventFeeds,
  eventFrame,
  type EventView,
  type FeedReader,
} from './event-feed.ts';
import type { RouteRequest, StreamReply, StreamSink } from './route.ts';

const KEEP_ALIVE_MS = 15_000;
/** A reader this far behind is dropped; it resumes from its last event id without a loss. */
const MAX_PENDING = 10_000;
/** So many events that are looked through for what a reader missed count as one more request. */
const READ_PER_REQUEST = 32;

/** A moment, in the place of an event: of a reader that has had none yet. */
const MOMENT = /^@(\d{1,15})$/;

type Asked = Pick<RouteRequest, 'store' | 'headers' | 'charge'>;

interface Missed {
  readonly events: readonly EventRecord[];
  /** Roughly, in bytes. */
  readonly size: number;
  /** The watch goes on after it. */
  readonly revision: number;
}

function lastOf(headers: Asked['headers']): string | undefined {
  const last = headers['last-event-id'];
  return typeof last === 'string' && last !== '' ? last : undefined;
}

async function now(store: Asked['store']): Promise<number> {
  return (await store.rangeCold('events', '', { limit: 1 })).revision;
}

/** What came after the reader's last event, or since it was told where its stream begins. Events are ordered by commit; those of one commit by their ids. */
async function readMissed({ store, headers, charge }: Asked, begun: number | undefined): Promise<Missed> {
  if (begun !== undefined && begun === (await now(store))) return { events: [], size: 0, revision: begun };
  const last = lastOf(headers) ?? `@${begun}`;
  const { entries, revision, length } = await store.rangeCold('events');
  charge(entries.length / READ_PER_REQUEST);
  const moment = Number(MOMENT.exec(last)?.[1]);
  // A moment that is still to come is one of another store. What is not known any more is followed by all that is kept.
  const seen =
    moment <= revision
      ? { createRevision: moment, id: undefined }
      : entries.find(({ id }) => id === idOf('events', last));
  const events = entries
    .filter(
      ({ id, createRevision }) =>
        seen === undefined ||
        createRevision > seen.createRevision ||
        (createRevision === seen.createRevision && seen.id !== undefined && id > seen.id),
    )
    .sort((a, b) => a.createRevision - b.createRevision || (a.id < b.id ? -1 : 1))
    .map(({ record }) => record);
  return { events, size: (length * events.length) / Math.max(1, entries.length), revision };
}

interface Told {
  readonly feeds: EventFeeds;
  readonly view: EventView;
  /** The revision that the head of the answer named. */
  readonly begun: number | undefined;
}

async function pump(request: Asked, sink: StreamSink, { feeds, view, begun }: Told): Promise<void> {
  const chunks: EventChunk[] = [];
  let pending = 0;
  let wake: () => void = () => undefined;
  let lost = false;
  let leave: () => void = () => undefined;
  /** All that came was written, so that what comes next can be written at once. */
  let isFlowing = false;
  /** What came up to here is read from the store. */
  let after = Number.POSITIVE_INFINITY;
  const reader: FeedReader = {
    take: (round) => {
      if (isFlowing && round.first > after) {
        if (!sink.writeShared(round.piece)) wake();
        return;
      }
      for (const chunk of round.chunks) {
        chunks.push(chunk);
        pending += chunk.events;
      }
      // It will be ended as soon as its client takes something, or does not: nothing more is kept for it until then.
      if (pending >= MAX_PENDING) {
        chunks.length = 0;
        leave();
      }
      wake();
    },
    lost: () => {
      lost = true;
      wake();
    },
  };
  // First the feed, then what was missed: no event can fall between the two, and what comes both ways is told by its revision.
  leave = await feeds.join(request.store, view, reader);
  const timer = setInterval(() => sink.write(': keep-alive\n\n'), KEEP_ALIVE_MS);
  sink.signal.addEventListener('abort', () => wake(), { once: true });
  try {
    const missed = await readMissed(request, begun);
    after = missed.revision;
    // They are kept until the reader took them: one that opens many streams and reads none is sent away.
    if (missed.size > 0 && !sink.hold(missed.size)) return;
    sink.write(': connected\n\n');
    // Not counted as pending: they are bounded by what is kept, and a reader that was away long must get past them.
    for (const event of missed.events) {
      if (sink.signal.aborted) return;
      if (view.wants(event) && !sink.write(eventFrame(event))) await sink.drained();
    }
    while (!sink.signal.aborted && !lost && pending < MAX_PENDING) {
      const chunk = chunks.shift();
      if (chunk === undefined) {
        await new Promise<void>((resolve) => {
          isFlowing = true;
          wake = () => {
            isFlowing = false;
            resolve();
          };
        });
        await sink.drained();
        continue;
      }
      pending -= chunk.events;
      if (chunk.revision > after && !sink.writeShared(chunk.piece)) await sink.drained();
    }
  } finally {
    clearInterval(timer);
    leave();
  }
}

/** Live events; a lost watch or a slow reader ends the stream, and the client resumes with Last-Event-ID. */
export async function eventStream(request: Asked, feeds: EventFeeds, view: EventView): Promise<StreamReply> {
  const begun = lastOf(request.headers) === undefined ? await now(request.store) : undefined;
  return {
    status: 200,
    contentType: 'text/event-stream; charset=utf-8',
    // Whoever is cut off before its first event goes on from here.
    ...(begun !== undefined && { headers: { 'last-event-id': `@${begun}` } }),
    stream: (sink) => pump(request, sink, { feeds, view, begun }),
  };
}
