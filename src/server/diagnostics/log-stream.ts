import type { LogFeed, LogReader } from '../../core/contract/log-feed.ts';
import type { SystemQuestion } from '../../core/protocol/peer-messages.ts';
import type { PacedScrubber } from './paced-scrubber.ts';
import { type EventSink, send } from './sink.ts';

export type LogQuestion = Extract<SystemQuestion, { readonly kind: 'log' }>;

/** What was kept, then what comes until the time is over or the reader has gone: with it the level is what it was. */
export async function streamLog(
  feed: LogFeed,
  { level, tail, forMs }: LogQuestion,
  reader: LogReader | undefined,
  scrubber: PacedScrubber,
  sink: EventSink,
): Promise<void> {
  const close = (): void => reader?.close();
  const timer = setTimeout(close, forMs);
  sink.signal.addEventListener('abort', close, { once: true });
  if (sink.signal.aborted) close();
  const line = async (text: string): Promise<void> => {
    if (!sink.signal.aborted) await send(sink, 'log', { line: (await scrubber.scrub(text)).text });
  };
  try {
    for (const text of feed.tail(tail, level)) await line(text);
    for (let batch = await reader?.take(); batch !== undefined; batch = await reader?.take()) {
      for (const text of batch.lines) await line(text);
      if (batch.dropped > 0) await send(sink, 'gap', { lines: batch.dropped });
    }
    await send(sink, 'end', { reason: reader === undefined ? 'kept lines only' : 'the time is over' });
  } finally {
    clearTimeout(timer);
    close();
  }
}
