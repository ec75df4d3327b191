import type { LogGap, OutputChunk, OutputStream } from './engine.ts';

const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;
const LONGEST_TIMESTAMP = 36;

/** What an engine stored at once: a line, or a part of one that is longer than 16 KiB. */
export interface LogEntry {
  readonly stream: OutputStream;
  readonly timestamp?: string;
  readonly text: Buffer;
}

/** From a whole frame of a log with timestamps: the timestamp, a space, and the text. */
export function logEntry({ stream, bytes }: OutputChunk): LogEntry {
  const space = bytes.subarray(0, LONGEST_TIMESTAMP + 1).indexOf(0x20);
  const timestamp = space <= 0 ? '' : bytes.toString('latin1', 0, space);
  if (!TIMESTAMP.test(timestamp)) return { stream, text: bytes };
  return { stream, timestamp, text: bytes.subarray(space + 1) };
}

/** Streams are written by two hands: an entry of one may be stored a moment after a later one of the other. */
const OVERLAP_MS = 1000;

/**
 * Where a reader is in a log. Docker 20.10 ends a followed log with its container even when the reader is not there yet, and
 * so loses the last lines of what crashed: the log is read once more from here, without what was seen.
 */
export class LogPosition {
  readonly #seen = new Map<OutputStream, { readonly at: bigint; count: number }>();

  #first: bigint | undefined;

  note(entry: LogEntry): void {
    const at = nanoseconds(entry.timestamp);
    this.#first ??= at;
    const last = this.#seen.get(entry.stream);
    if (last?.at === at) last.count += 1;
    else if (last === undefined || at > last.at) this.#seen.set(entry.stream, { at, count: 1 });
  }

  /** Undefined: nothing was seen. */
  get resumeMs(): number | undefined {
    const latest = [...this.#seen.values()].map(({ at }) => Number(at / 1_000_000n));
    return latest.length === 0 ? undefined : Math.max(...latest) - OVERLAP_MS;
  }

  /**
   * What is missing before the first entry of a further reading. A reading has no holes and begins with what was seen last,
   * unless the engine has overwritten that meanwhile.
   */
  gapBefore({ timestamp }: LogEntry): LogGap | undefined {
    const at = nanoseconds(timestamp);
    const latest = [...this.#seen.values()].reduce((most, seen) => (seen.at > most ? seen.at : most), 0n);
    if (latest === 0n || at <= latest || timestamp === undefined) return undefined;
    return { after: new Date(Number(latest / 1_000_000n)).toISOString(), before: timestamp };
  }

  /** A filter for one more reading, in the order of the log: whether an entry is new. */
  unseen(): (entry: LogEntry) => boolean {
    const left = new Map([...this.#seen].map(([stream, { at, count }]) => [stream, { at, count }]));
    const first = this.#first ?? 0n;
    return (entry) => {
      const last = left.get(entry.stream);
      const at = nanoseconds(entry.timestamp);
      if (last === undefined) return at >= first;
      if (at !== last.at) return at > last.at;
      if (last.count === 0) return true;
      last.count -= 1;
      return false;
    };
  }
}

export function milliseconds(timestamp: string | undefined): number {
  return Number(nanoseconds(timestamp) / 1_000_000n);
}

function nanoseconds(timestamp: string | undefined): bigint {
  const [, second, fraction = '', zone] = TIMESTAMP.exec(timestamp ?? '') ?? [];
  if (second === undefined || zone === undefined) return 0n;
  return BigInt(Date.parse(`${second}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}
