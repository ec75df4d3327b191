import { describe, expect, it } from 'vitest';
import { type LogEntry, LogPosition, logEntry } from './log-entry.ts';

const AT = '2026-11-15T01:55:12';

function entry(timestamp: string, text: string, stream: LogEntry['stream'] = 'stdout'): LogEntry {
  return { stream, timestamp, text: Buffer.from(text) };
}

describe('log entry', () => {
  it.each([
    [`${AT}.570112298Z hello\n`, `${AT}.570112298Z`, 'hello\n'],
    [`${AT}Z \n`, `${AT}Z`, '\n'],
    [`${AT}+01:00 a b`, `${AT}+01:00`, 'a b'],
    ['no timestamp here', undefined, 'no timestamp here'],
    [' leading', undefined, ' leading'],
    ['', undefined, ''],
  ])('reads %j', (bytes, timestamp, text) => {
    const read = logEntry({ stream: 'stderr', bytes: Buffer.from(bytes) });
    expect([read.stream, read.timestamp, read.text.toString()]).toEqual(['stderr', timestamp, text]);
  });
});

describe('position in a log', () => {
  it('lets through what was not seen, also at the same moment and of the other stream', () => {
    const position = new LogPosition();
    for (const text of ['a', 'b', 'c']) position.note(entry(text === 'a' ? `${AT}.1Z` : `${AT}.2Z`, text));
    const log = [
      entry(`${AT}.05Z`, 'before the first'),
      entry(`${AT}.1Z`, 'a'),
      entry(`${AT}.2Z`, 'b'),
      entry(`${AT}.2Z`, 'c'),
      entry(`${AT}.2Z`, 'd'),
      entry(`${AT}.15Z`, 'late', 'stderr'),
      entry(`${AT}.01Z`, 'early', 'stderr'),
      entry(`${AT}.300000001Z`, 'e'),
    ];
    expect(log.filter(position.unseen()).map(({ text }) => text.toString())).toEqual(['d', 'late', 'e']);
    expect(position.resumeMs).toBe(Date.parse(`${AT}.2Z`) - 1000);
  });

  it('knows no place before anything was seen', () => {
    const position = new LogPosition();
    expect(position.resumeMs).toBeUndefined();
    expect(position.unseen()(entry(`${AT}Z`, 'x'))).toBe(true);
  });
});
