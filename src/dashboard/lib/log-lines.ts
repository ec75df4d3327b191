import { endsByStop, unreadReason } from '../../core/contract/log-end.ts';
import { parsedRecord } from '../../core/model/values.ts';
import type { Frame } from '../../sdk/index.ts';
import { textAt } from './draft.ts';
import { printable } from './printable.ts';

/** One line of output, as it is read. */
export interface LogEntry {
  readonly instance: string;
  readonly channel: 'stdout' | 'stderr' | 'problem';
  readonly text: string;
  /** As the node wrote it before the line, where times were asked for. */
  readonly at?: string;
}

export interface LogLine extends LogEntry {
  readonly key: number;
}

/** Older lines go: a browser is no archive. */
export const MAX_LINES = 5000;
const MAX_CHARACTERS = 4_000_000;
/** More is not counted: nobody goes through them one by one. */
export const MAX_FOUND = 9999;

/** The newest that fit, of what was there and what came. */
export function boundedLines(
  before: readonly LogLine[],
  fresh: readonly LogLine[],
  maxCharacters = MAX_CHARACTERS,
): readonly LogLine[] {
  const all = [...before, ...fresh];
  let first = all.length;
  for (let characters = 0; first > 0 && all.length - first < MAX_LINES; first -= 1) {
    characters += all[first - 1]?.text.length ?? 0;
    if (characters > maxCharacters) break;
  }
  return first === 0 ? all : all.slice(first);
}

const TIMED = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})) /;

/** A line that was asked for with its time has that before it, unless its node could not tell. */
function entryOf(line: string, isTimed: boolean): Pick<LogEntry, 'text' | 'at'> {
  const text = printable(line);
  const at = isTimed ? TIMED.exec(text)?.[1] : undefined;
  return at === undefined ? { text } : { text: text.slice(at.length + 1), at };
}

const RESUMED = 'The control plane is stopping; the log goes on when one answers.';

/** Of a stream that is followed. `isResumed`: it goes on past a control plane that stops. */
export async function* followedEntries(
  frames: AsyncIterable<Frame>,
  isTimed: boolean,
  isResumed = false,
): AsyncGenerator<LogEntry> {
  for await (const frame of frames) {
    const { event, data } = frame;
    if (event === 'end') {
      const reason = unreadReason(frame);
      const text =
        isResumed && endsByStop(frame)
          ? RESUMED
          : `The log was not read to its end: ${printable(reason ?? '')}.`;
      if (reason !== undefined) yield { instance: '', channel: 'problem', text };
      continue;
    }
    const entry = parsedRecord(data);
    const instance = textAt(entry, 'instance');
    if (event === 'problem')
      yield { instance, channel: 'problem', text: printable(textAt(entry, 'message')) };
    else {
      const channel = entry['channel'] === 'stderr' ? 'stderr' : 'stdout';
      yield { instance, channel, ...entryOf(textAt(entry, 'line'), isTimed) };
    }
  }
}

/** Of an answer that has ended: text, line by line. */
export async function* keptEntries(
  pieces: AsyncIterable<Uint8Array>,
  instance: string,
  isTimed: boolean,
): AsyncGenerator<LogEntry> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const piece of pieces) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield { instance, channel: 'stdout', ...entryOf(line, isTimed) };
  }
  if (rest !== '') yield { instance, channel: 'stdout', ...entryOf(rest, isTimed) };
}

/** Where the wanted text is: a line, and the place in it. */
export interface Found {
  readonly key: number;
  readonly at: number;
}

/** For comparison, as long as it was, so that a place is the same in both: İ is the one letter whose small form is longer. */
export function lowered(text: string): string {
  return text.replaceAll('İ', 'I').toLowerCase();
}

/** Without regard to case, in the order of the lines. */
export function foundIn(lines: readonly LogLine[], wanted: string): readonly Found[] {
  const text = lowered(wanted);
  const found: Found[] = [];
  if (text === '') return found;
  for (const line of lines) {
    const within = lowered(line.text);
    for (let at = within.indexOf(text); at !== -1; at = within.indexOf(text, at + text.length)) {
      found.push({ key: line.key, at });
      if (found.length === MAX_FOUND) return found;
    }
  }
  return found;
}

/** Up to which line places are marked: where there are too many to be counted, drawing them all would hold the page up. */
export function lastMarked(found: readonly Found[]): number {
  return found.length === MAX_FOUND ? (found.at(-1)?.key ?? 0) : Number.POSITIVE_INFINITY;
}

/** What a file of them has: the time and whose line it is, where that is known. */
export function fileText(lines: readonly LogLine[], isOfSeveral: boolean): string {
  return lines
    .map(({ at, instance, text }) =>
      [...(at === undefined ? [] : [at]), ...(isOfSeveral ? [`${instance} |`] : []), `${text}\n`].join(' '),
    )
    .join('');
}
