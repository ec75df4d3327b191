import { describe, expect, it } from 'vitest';
import { AGENT_LOST, STOPPING } from '../../core/contract/log-end.ts';
import {
  boundedLines,
  fileText,
  followedEntries,
  foundIn,
  keptEntries,
  lastMarked,
  type LogEntry,
  type LogLine,
  MAX_FOUND,
  MAX_LINES,
} from './log-lines.ts';

const lines = (...texts: readonly string[]): readonly LogLine[] =>
  texts.map((text, key) => ({ key, instance: 'ins_a', channel: 'stdout', text }));

async function all(entries: AsyncIterable<LogEntry>): Promise<readonly LogEntry[]> {
  const read: LogEntry[] = [];
  for await (const entry of entries) read.push(entry);
  return read;
}

async function* of<T>(...items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

describe('lines of a log', () => {
  it('are kept up to a number and an amount, the newest of them', () => {
    const many = lines(...Array.from({ length: MAX_LINES }, (_, at) => `line ${at}`));
    expect(boundedLines(many, lines('newest'))).toHaveLength(MAX_LINES);
    expect(boundedLines(many, lines('newest')).at(-1)?.text).toBe('newest');
    expect(boundedLines(lines('aaaa', 'bbbb'), lines('cccc'), 8).map(({ text }) => text)).toEqual([
      'bbbb',
      'cccc',
    ]);
    expect(boundedLines([], [])).toEqual([]);
  });

  it('have the time that was asked for apart, and only then', async () => {
    const at = '2026-01-02T03:04:05.678901234Z';
    const frames = () =>
      of(
        { event: 'log', data: JSON.stringify({ instance: 'ins_a', channel: 'stderr', line: `${at} hello` }) },
        { event: 'log', data: JSON.stringify({ instance: 'ins_a', line: '\u001b[31mno time\u001b[0m' }) },
        { event: 'problem', data: JSON.stringify({ instance: 'ins_b', message: 'not connected' }) },
        { event: 'end', data: '{}' },
      );
    expect(await all(followedEntries(frames(), true))).toEqual([
      { instance: 'ins_a', channel: 'stderr', text: 'hello', at },
      { instance: 'ins_a', channel: 'stdout', text: 'no time' },
      { instance: 'ins_b', channel: 'problem', text: 'not connected' },
    ]);
    expect((await all(followedEntries(frames(), false)))[0]?.text).toBe(`${at} hello`);
    const told = [
      {
        ended: STOPPING,
        isResumed: true,
        text: 'The control plane is stopping; the log goes on when one answers.',
      },
      { ended: STOPPING, isResumed: false, text: `The log was not read to its end: ${STOPPING.reason}.` },
      { ended: AGENT_LOST, isResumed: true, text: `The log was not read to its end: ${AGENT_LOST.reason}.` },
    ];
    for (const { ended, isResumed, text } of told)
      expect(
        await all(followedEntries(of({ event: 'end', data: JSON.stringify(ended) }), false, isResumed)),
      ).toEqual([{ instance: '', channel: 'problem', text }]);
  });

  it('are whole, however the text of a kept log is cut', async () => {
    const bytes = new TextEncoder().encode('grüße\nzwei\nohne Ende');
    const read = await all(
      keptEntries(of(bytes.slice(0, 3), bytes.slice(3, 9), bytes.slice(9)), 'ins_a', false),
    );
    expect(read.map(({ text }) => text)).toEqual(['grüße', 'zwei', 'ohne Ende']);
  });

  it('are searched without regard to case, several times in a line, and not without end', () => {
    expect(foundIn(lines('Error: error', 'fine', 'ERROR'), 'error')).toEqual([
      { key: 0, at: 0 },
      { key: 0, at: 7 },
      { key: 2, at: 0 },
    ]);
    expect(foundIn(lines('a'), '')).toEqual([]);
    expect(foundIn(lines('a'.repeat(20_000)), 'a')).toHaveLength(MAX_FOUND);
    expect(foundIn(lines('İstanbul: ERROR'), 'error')).toEqual([{ key: 0, at: 10 }]);
  });

  it('are marked up to where places are counted', () => {
    const many = lines(...Array.from({ length: 3 }, () => 'a'.repeat(6000)));
    expect(lastMarked(foundIn(many, 'a'))).toBe(1);
    expect(lastMarked(foundIn(many, 'b'))).toBe(Number.POSITIVE_INFINITY);
  });

  it('become a file with what is known of them', () => {
    const [one] = lines('hello');
    const timed = one === undefined ? [] : [{ ...one, at: '2026-01-02T03:04:05Z' }];
    expect(fileText(timed, true)).toBe('2026-01-02T03:04:05Z ins_a | hello\n');
    expect(fileText(lines('hello', ''), false)).toBe('hello\n\n');
  });
});
