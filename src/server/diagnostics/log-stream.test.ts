import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LogFeed } from '../../core/contract/log-feed.ts';
import type { LogLevel } from '../../core/model/log-level.ts';
import { streamLog } from './log-stream.ts';
import { PacedScrubber } from './paced-scrubber.ts';

const BOUNDS = { lines: 5000, bytes: 2 ** 20, readerBytes: 2 ** 20, readers: 8 };
const FOLLOWED = { kind: 'log', follow: true, level: 'debug', tail: 5000, forMs: 3_600_000 } as const;

function following() {
  let lowest: LogLevel | undefined;
  const feed = new LogFeed('info', BOUNDS, (level) => {
    lowest = level;
  });
  const written: string[] = [];
  const leaving = new AbortController();
  const sink = {
    write: (piece: string) => written.push(piece) > 0,
    drained: () => Promise.resolve(),
    signal: leaving.signal,
  };
  const read = () => streamLog(feed, FOLLOWED, feed.follow('debug'), new PacedScrubber([]), sink);
  return { feed, leaving, written, read, lowest: () => lowest };
}

describe('the log of this process', () => {
  it('is not raised for a reader that left before it began', async () => {
    const { leaving, read, lowest, written } = following();
    leaving.abort();
    await read();
    expect([lowest(), written]).toEqual([undefined, []]);
  });

  it('leaves others their turn while many lines are searched', async () => {
    const { feed, leaving, read, written } = following();
    for (let count = 0; count < 1000; count += 1) feed.add('info', 'x '.repeat(500));
    const reading = read();
    await turn();
    expect(written.length).toBeLessThan(100);
    leaving.abort();
    await reading;
    expect(written.length).toBeLessThan(100);
  });
});
