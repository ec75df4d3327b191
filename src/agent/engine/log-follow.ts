import type { LogGap, LogOptions } from './engine.ts';
import { EngineConflictError, EngineNotFoundError } from './errors.ts';
import { optional } from '../../core/model/values.ts';
import { type LogEntry, LogPosition, milliseconds } from './log-entry.ts';

/** A reader that is so far behind what is printed, because it held the reading up for so long, is too slow to follow. */
const BEHIND_MS = 300;
/** A read that returned at most this much has reached the end. */
const CAUGHT_UP_BYTES = 64 * 1024;

type Read = (reading: LogOptions) => AsyncIterable<LogEntry>;

/** A reading of what is there, or one that stays for what comes. */
interface Reading {
  readonly live: boolean;
  /** Of what was new in it. */
  bytes: number;
  /** Left because the reader is behind. */
  left: boolean;
}

/**
 * Follows a log without silent holes. Engines rotate logs; Docker 20.10 passes over whole files, or repeats one, when the
 * reader of a live log is slower than its container, and ends a live log with its container though the reader is not there yet.
 * So a live log is read only while the reader keeps up. Otherwise, and after the end, what is there is read from the last
 * place on: such a reading holds its files open and has no holes, and shows whether it begins where the last one ended.
 */
export async function* followed(
  read: Read,
  options: LogOptions,
): AsyncGenerator<LogEntry | { readonly gap: LogGap }> {
  const position = new LogPosition();
  const beganMs = Date.now();
  let reading: Reading = { live: false, bytes: 0, left: false };
  yield* readOnce(read, { ...options, follow: false }, position, reading);
  for (;;) {
    const ended = reading.live && !reading.left;
    reading = { live: !reading.live && reading.bytes <= CAUGHT_UP_BYTES, bytes: 0, left: false };
    try {
      yield* readOnce(read, nextOptions(options, position, reading.live, beganMs), position, reading);
    } catch (error) {
      // Removed in the meantime, and its log with it.
      if (!(error instanceof EngineNotFoundError || error instanceof EngineConflictError)) throw error;
      return;
    }
    if (ended) return;
  }
}

function nextOptions(options: LogOptions, position: LogPosition, live: boolean, beganMs: number): LogOptions {
  // Without a place to go on from nothing was printed yet, or nothing of it was wanted.
  const sinceMs = position.resumeMs ?? (options.tail === 0 ? beganMs : options.sinceMs);
  return { follow: live, ...optional('signal', options.signal), ...optional('sinceMs', sinceMs) };
}

async function* readOnce(
  read: Read,
  options: LogOptions,
  position: LogPosition,
  reading: Reading,
): AsyncGenerator<LogEntry | { readonly gap: LogGap }> {
  const unseen = position.unseen();
  let first = true;
  let heldMs = 0;
  for await (const entry of read(options)) {
    const gap = first ? position.gapBefore(entry) : undefined;
    first = false;
    if (gap !== undefined) yield { gap };
    if (!unseen(entry)) continue;
    position.note(entry);
    reading.bytes += entry.text.length;
    const givenMs = performance.now();
    yield entry;
    heldMs += performance.now() - givenMs;
    if (reading.live && heldMs > BEHIND_MS && Date.now() - milliseconds(entry.timestamp) > BEHIND_MS) {
      reading.left = true;
      return;
    }
  }
}
