import type { LogLine, OutputChunk, OutputStream } from './engine.ts';

const NEWLINE = 0x0a;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const LONGEST_TIMESTAMP = 36;

interface Pending {
  parts: Buffer[];
  bytes: number;
  timestamp: string | undefined;
}

/**
 * Joins log entries to lines. Engines store a line of more than 16 KiB as several entries, each with its own timestamp: the
 * first one counts. A line is cut at `maxLineBytes`, between characters, so that memory stays bounded whatever is written.
 */
export class LineAssembler {
  readonly #maxLineBytes: number;
  readonly #timestamps: boolean;
  readonly #pending: Record<OutputStream, Pending> = { stdout: nothing(), stderr: nothing() };

  constructor(options: { readonly maxLineBytes: number; readonly timestamps: boolean }) {
    this.#maxLineBytes = options.maxLineBytes;
    this.#timestamps = options.timestamps;
  }

  /** With timestamps, `entry` is one whole frame: a timestamp, a space, and the text of at most one line. */
  *push(entry: OutputChunk): Generator<LogLine> {
    const pending = this.#pending[entry.stream];
    const [timestamp, text] = this.#timestamps ? splitTimestamp(entry.bytes) : [undefined, entry.bytes];
    pending.timestamp ??= timestamp;
    let rest = text;
    while (rest.length > 0) {
      const newline = rest.indexOf(NEWLINE);
      const part = newline === -1 ? rest : rest.subarray(0, newline);
      pending.parts.push(part);
      pending.bytes += part.length;
      if (newline === -1 && pending.bytes <= this.#maxLineBytes) return;
      yield* this.#emit(entry.stream, newline !== -1);
      if (newline === -1) return;
      rest = rest.subarray(newline + 1);
    }
  }

  /** A last line without a newline. */
  *end(): Generator<LogLine> {
    for (const stream of ['stdout', 'stderr'] as const) {
      if (this.#pending[stream].bytes > 0) yield* this.#emit(stream, true);
    }
  }

  *#emit(stream: OutputStream, complete: boolean): Generator<LogLine> {
    const { parts, timestamp } = this.#pending[stream];
    let bytes = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    const stamp = timestamp === undefined ? {} : { timestamp };
    while (bytes.length > this.#maxLineBytes) {
      const cut = characterBoundary(bytes, this.#maxLineBytes);
      yield { stream, line: bytes.toString('utf8', 0, cut), partial: true, ...stamp };
      bytes = bytes.subarray(cut);
    }
    if (complete) {
      const end = bytes.at(-1) === 0x0d ? bytes.length - 1 : bytes.length;
      yield { stream, line: bytes.toString('utf8', 0, end), partial: false, ...stamp };
      this.#pending[stream] = nothing();
    } else {
      this.#pending[stream] = { parts: [Buffer.from(bytes)], bytes: bytes.length, timestamp };
    }
  }
}

function nothing(): Pending {
  return { parts: [], bytes: 0, timestamp: undefined };
}

function splitTimestamp(entry: Buffer): readonly [string | undefined, Buffer] {
  const space = entry.subarray(0, LONGEST_TIMESTAMP + 1).indexOf(0x20);
  if (space <= 0) return [undefined, entry];
  const word = entry.toString('latin1', 0, space);
  return TIMESTAMP.test(word) ? [word, entry.subarray(space + 1)] : [undefined, entry];
}

/** The last place at or before `limit` that does not fall inside a UTF-8 character. */
function characterBoundary(bytes: Buffer, limit: number): number {
  for (let at = limit; at > limit - 4 && at > 0; at -= 1) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  }
  return limit;
}
