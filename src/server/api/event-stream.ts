import type { EventRecord } from '../../core/model/event.ts';
import { idOf } from '../store/record-ids.ts';
import type { KvChangeBatch } from '../store/kv.ts';
import { decodeRecord } from '../store/records.ts';
import type { RouteRequest, StreamReply, StreamSink } from './route.ts';

const KEEP_ALIVE_MS = 15_000;
/** A reader this far behind is dropped; it resumes from its last event id without a loss. */
const MAX_PENDING = 10_000;
/** So many events that are looked through for what a reader missed count as one more request. */
const READ_PER_REQUEST = 32;

function frame(event: EventRecord): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

interface Missed {
  readonly events: readonly EventRecord[];
  /** Roughly, in bytes. */
  readonly size: number;
  /** The watch goes on after it. */
  readonly revision: number;
}

/** What came after the reader's last event. Events are ordered by commit; those of one commit by their ids. */
async function readMissed({ store, headers, charge }: RouteRequest): Promise<Missed> {
  const last = headers['last-event-id'];
  if (typeof last !== 'string' || last === '') {
    const { revision } = await store.rangeCold('events', '', { limit: 1 });
    return { events: [], size: 0, revision };
  }
  const { entries, revision, length } = await store.rangeCold('events');
  charge(entries.length / READ_PER_REQUEST);
  const seen = entries.find(({ id }) => id === idOf('events', last));
  const events = entries
    .filter(
      ({ id, createRevision }) =>
        seen === undefined ||
        createRevision > seen.createRevision ||
        (createRevision === seen.createRevision && id > seen.id),
    )
    .sort((a, b) => a.createRevision - b.createRevision || (a.id < b.id ? -1 : 1))
    .map(({ record }) => record);
  return { events, size: (length * events.length) / Math.max(1, entries.length), revision };
}

async function pump(
  request: RouteRequest,
  sink: StreamSink,
  wanted: (event: EventRecord) => boolean,
): Promise<void> {
  const { store } = request;
  const pending: EventRecord[] = [];
  let wake: () => void = () => undefined;
  let lost = false;
  const missed = await readMissed(request);
  // They are kept until the reader took them: one that opens many streams and reads none is sent away.
  if (missed.size > 0 && !sink.hold(missed.size)) return;
  const onBatch = (batch: KvChangeBatch): void => {
    // Commits that share a revision come in any order there: in that of their ids, what is watched is what a reader who resumes finds.
    const inOrder = batch.changes.toSorted((a, b) => (a.key < b.key ? -1 : 1));
    for (const { key, entry } of inOrder) if (entry) pending.push(decodeRecord(key, entry.value));
    wake();
  };
  const onLost = (): void => {
    lost = true;
    wake();
  };
  const watch = store.watchCold('events', missed.revision, { onBatch, onLost });
  const timer = setInterval(() => sink.write(': keep-alive\n\n'), KEEP_ALIVE_MS);
  sink.signal.addEventListener('abort', () => wake(), { once: true });
  try {
    sink.write(': connected\n\n');
    const send = async (event: EventRecord): Promise<void> => {
      if (wanted(event) && !sink.write(frame(event))) await sink.drained();
    };
    // Not counted as pending: they are bounded by what is kept, and a reader that was away long must get past them.
    for (const event of missed.events) {
      if (sink.signal.aborted) return;
      await send(event);
    }
    while (!sink.signal.aborted && !lost && pending.length < MAX_PENDING) {
      const event = pending.shift();
      if (event === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else await send(event);
    }
  } finally {
    clearInterval(timer);
    watch.close();
  }
}

/** Live events; a lost watch or a slow reader ends the stream, and the client resumes with Last-Event-ID. */
export function eventStream(request: RouteRequest, wanted: (event: EventRecord) => boolean): StreamReply {
  return {
    status: 200,
    contentType: 'text/event-stream; charset=utf-8',
    stream: (sink) => pump(request, sink, wanted),
  };
}
