import type { LogLine, OutputStream } from './engine.ts';
import type { LogEntry } from './log-entry.ts';

const NEWLINE = 0x0a;

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
  readonly #pending: Record<OutputStream, Pending> = { stdout: nothing(), stderr: nothing() };

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  *push({ stream, timestamp, text }: LogEntry): Generator<LogLine> {
    let rest = text;
    while (rest.length > 0) {
      const pending = this.#pending[stream];
      const newline = rest.indexOf(NEWLINE);
      const part = newline === -1 ? rest : rest.subarray(0, newline);
      pending.timestamp ??= timestamp;
      pending.parts.push(part);
      pending.bytes += part.length;
      if (newline !== -1 || pending.bytes > this.#maxLineBytes) yield* this.#emit(stream, newline !== -1);
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

/** The last place at or before `limit` that does not fall inside a UTF-8 character. */
function characterBoundary(bytes: Buffer, limit: number): number {
  for (let at = limit; at > limit - 4 && at > 0; at -= 1) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) return at;
  }
  return limit;
}
