import { LOG_LEVELS, type LogLevel } from '../model/log-level.ts';
import { KeptLines, type KeptLinesBounds } from './kept-lines.ts';

/** Most that is kept of the log, and for one reader who does not read. */
export interface FeedBounds extends KeptLinesBounds {
  readonly readerBytes: number;
  readonly readers: number;
}

/** Lines since the last take, and how many before them were dropped because the reader was slow. */
export interface FeedBatch {
  readonly dropped: number;
  readonly lines: readonly string[];
}

/** One reader of the log: what it has not taken waits within a bound, and what does not fit is counted. */
export class LogReader {
  readonly level: LogLevel;
  readonly #mostBytes: number;
  readonly #leave: () => void;
  #lines: string[] = [];
  #bytes = 0;
  #dropped = 0;
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(level: LogLevel, mostBytes: number, leave: () => void) {
    this.level = level;
    this.#mostBytes = mostBytes;
    this.#leave = leave;
  }

  offer(line: string): void {
    // A gap is said once, where it is: after the first line that is lost nothing is kept until the reader has caught up.
    if (this.#dropped > 0 || this.#bytes + line.length > this.#mostBytes) this.#dropped += 1;
    else {
      this.#lines.push(line);
      this.#bytes += line.length;
    }
    this.#wake?.();
  }

  /** Waits for lines; undefined once it is closed and everything was taken. Lines of the batch came before those that were dropped. */
  async take(): Promise<FeedBatch | undefined> {
    while (this.#lines.length === 0 && this.#dropped === 0 && !this.#closed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    if (this.#lines.length === 0 && this.#dropped === 0) return undefined;
    const batch = { lines: this.#lines, dropped: this.#dropped };
    this.#lines = [];
    this.#bytes = 0;
    this.#dropped = 0;
    return batch;
  }

  /** The level goes back to what it was, unless another reader wants it. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#leave();
    this.#wake?.();
  }
}

/**
 * The log of a program as others read it while it runs: its last lines, and those that come. What a reader asks for beyond the configured
 * level goes to that reader alone, for as long as it reads: the program's own log and the kept lines stay at the configured level.
 */
export class LogFeed {
  readonly #usual: number;
  readonly #bounds: FeedBounds;
  readonly #readers = new Set<LogReader>();
  readonly #onLowest: (level: LogLevel | undefined) => void;
  readonly #kept: KeptLines;

  /** `usual`: the configured level; undefined: the program logs nothing. `onLowest` is told what the readers want, undefined: none. */
  constructor(
    usual: LogLevel | undefined,
    bounds: FeedBounds,
    onLowest: (level: LogLevel | undefined) => void,
  ) {
    this.#usual = usual === undefined ? LOG_LEVELS.length : LOG_LEVELS.indexOf(usual);
    this.#bounds = bounds;
    this.#kept = new KeptLines(bounds);
    this.#onLowest = onLowest;
  }

  /** True: the line belongs to the program's own log. */
  add(level: LogLevel, line: string): boolean {
    const at = LOG_LEVELS.indexOf(level);
    for (const reader of this.#readers) if (at >= LOG_LEVELS.indexOf(reader.level)) reader.offer(line);
    if (at < this.#usual) return false;
    this.#kept.add(at, line);
    return true;
  }

  /** The newest lines that were kept, of this level or above, oldest first. Below the configured level none is kept. */
  tail(most: number, level: LogLevel = 'debug'): readonly string[] {
    return this.#kept.tail(most, LOG_LEVELS.indexOf(level));
  }

  /** Undefined: there are as many readers as there may be. */
  follow(level: LogLevel): LogReader | undefined {
    if (this.#readers.size >= this.#bounds.readers) return undefined;
    const reader = new LogReader(level, this.#bounds.readerBytes, () => {
      this.#readers.delete(reader);
      this.#tell();
    });
    this.#readers.add(reader);
    this.#tell();
    return reader;
  }

  #tell(): void {
    this.#onLowest(LOG_LEVELS.find((level) => [...this.#readers].some((reader) => reader.level === level)));
  }
}
