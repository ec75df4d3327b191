import type { EventRecord } from '../../core/model/event.ts';
import type { KvChangeBatch } from '../store/kv.ts';
import { decodeRecord } from '../store/records.ts';
import type { RouteRequest, StreamReply, StreamSink } from './route.ts';

const KEEP_ALIVE_MS = 15_000;
/** A reader this far behind is dropped; it resumes from its last event id without a loss. */
const MAX_PENDING = 10_000;

function frame(event: EventRecord): string {
  return `id: ${event.id}\nevent: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Revision after which the reader wants to go on; events are ordered by commit, not by id. */
async function startRevision(request: RouteRequest): Promise<number | undefined> {
  const last = request.headers['last-event-id'];
  if (typeof last !== 'string' || last === '') return undefined;
  return (await request.store.getCold('events', encodeURIComponent(last)))?.createRevision ?? 0;
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
  const after = await startRevision(request);
  const { entries, revision } = await store.rangeCold('events', '', after === undefined ? { limit: 1 } : {});
  if (after !== undefined) {
    const missed = entries
      .filter((entry) => entry.createRevision > after)
      .sort((a, b) => a.createRevision - b.createRevision);
    pending.push(...missed.map((entry) => entry.record));
  }
  const onBatch = (batch: KvChangeBatch): void => {
    for (const { key, entry } of batch.changes) if (entry) pending.push(decodeRecord(key, entry.value));
    wake();
  };
  const onLost = (): void => {
    lost = true;
    wake();
  };
  const watch = store.watchCold('events', revision, { onBatch, onLost });
  const timer = setInterval(() => sink.write(': keep-alive\n\n'), KEEP_ALIVE_MS);
  sink.signal.addEventListener('abort', () => wake(), { once: true });
  try {
    sink.write(': connected\n\n');
    while (!sink.signal.aborted && !lost && pending.length < MAX_PENDING) {
      const event = pending.shift();
      if (event === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      } else if (wanted(event) && !sink.write(frame(event))) {
        await sink.drained();
      }
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
