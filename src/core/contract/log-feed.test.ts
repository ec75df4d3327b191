import { describe, expect, it } from 'vitest';
import type { LogLevel } from '../model/log-level.ts';
import { LogFeed } from './log-feed.ts';

const BOUNDS = { lines: 3, bytes: 100, readerBytes: 10, readers: 2 };

function feed(usual?: LogLevel) {
  const lowest: (LogLevel | undefined)[] = [];
  return { lowest, feed: new LogFeed(usual, BOUNDS, (level) => lowest.push(level)) };
}

describe('the log of a program', () => {
  it('keeps the newest lines of the configured level within its bounds', () => {
    const { feed: log } = feed('info');
    for (const line of ['a', 'b', 'c', 'd']) expect(log.add('info', line)).toBe(true);
    expect(log.add('debug', 'quiet')).toBe(false);
    expect(log.tail(10)).toEqual(['b', 'c', 'd']);
    expect(log.tail(1)).toEqual(['d']);
    log.add('error', 'x'.repeat(96));
    expect(log.tail(10, 'error')).toEqual(['x'.repeat(96)]);
    expect(log.tail(10)).toEqual(['c', 'd', 'x'.repeat(96)]);
    for (let count = 0; count < 100; count += 1) log.add('warn', String(count));
    expect(log.tail(10)).toEqual(['97', '98', '99']);
  });

  it('gives a reader the level that it asks for, without the kept lines, and only while it reads', async () => {
    const { feed: log, lowest } = feed('warn');
    const reader = log.follow('debug');
    const quiet = log.follow('error');
    log.add('debug', 'd');
    log.add('error', 'e');
    expect(await reader?.take()).toEqual({ lines: ['d', 'e'], dropped: 0 });
    expect(await quiet?.take()).toEqual({ lines: ['e'], dropped: 0 });
    expect(log.tail(10)).toEqual(['e']);
    expect(log.follow('info')).toBeUndefined();
    reader?.close();
    reader?.close();
    quiet?.close();
    expect(await reader?.take()).toBeUndefined();
    expect(lowest).toEqual(['debug', 'debug', 'error', undefined]);
  });

  it('counts what a slow reader did not take, once and in its place', async () => {
    const { feed: log } = feed('info');
    const reader = log.follow('info');
    for (let count = 0; count < 20; count += 1) log.add('info', 'xxxx');
    expect(await reader?.take()).toEqual({ lines: ['xxxx', 'xxxx'], dropped: 18 });
    const next = reader?.take();
    log.add('info', 'late');
    expect(await next).toEqual({ lines: ['late'], dropped: 0 });
  });

  it('is followed also where the program logs nothing', async () => {
    const { feed: log } = feed();
    const reader = log.follow('error');
    expect(log.add('error', 'e')).toBe(false);
    expect(await reader?.take()).toEqual({ lines: ['e'], dropped: 0 });
    expect(log.tail(5)).toEqual([]);
  });
});
