import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { LogOptions } from './engine.ts';
import { EngineNotFoundError } from './errors.ts';
import type { LogEntry } from './log-entry.ts';
import { followed } from './log-follow.ts';

const START = Date.now() - 60_000;
const at = (second: number): string => new Date(START + second * 1000).toISOString();
const entry = (second: number): LogEntry => ({
  stream: 'stdout',
  timestamp: at(second),
  text: Buffer.from(`${second}\n`),
});

/** Each reading in turn gives its seconds; every one is asked for, and none beyond. */
async function follow(
  readings: readonly (readonly number[] | Error)[],
  options: LogOptions = {},
  eachMs = 0,
): Promise<{ readonly got: readonly (string | object)[]; readonly asked: readonly LogOptions[] }> {
  const asked: LogOptions[] = [];
  async function* read(reading: LogOptions): AsyncGenerator<LogEntry> {
    const next = readings[asked.length];
    asked.push(reading);
    if (next === undefined) throw new Error('one reading too many');
    if (next instanceof Error) throw next;
    for (const second of next) yield entry(second);
  }
  const got: (string | object)[] = [];
  for await (const one of followed(read, { ...options, follow: true })) {
    got.push('gap' in one ? one.gap : one.text.toString().trim());
    if (eachMs > 0) await pause(eachMs);
  }
  return { got, asked };
}

describe('a followed log', () => {
  it('is read as it is, then live from there, then once more after the end, each entry once', async () => {
    const { got, asked } = await follow(
      [
        [1, 2],
        [2, 3],
        [3, 4],
      ],
      { tail: 5 },
    );
    expect(got).toEqual(['1', '2', '3', '4']);
    expect(asked.map(({ follow: live, tail, sinceMs }) => [live, tail, sinceMs])).toEqual([
      [false, 5, undefined],
      [true, undefined, START + 1000],
      [false, undefined, START + 2000],
    ]);
  });

  it('begins live at once with what comes now, when nothing of the past is wanted', async () => {
    const before = Date.now();
    const { asked } = await follow([[], [], []], { tail: 0 });
    expect(asked[1]?.sinceMs).toBeGreaterThanOrEqual(before);
  });

  it('tells what is missing when the last place is gone', async () => {
    const { got } = await follow([
      [1, 2],
      [2, 3],
      [9, 10],
    ]);
    expect(got).toEqual(['1', '2', '3', { after: at(3), before: at(9) }, '9', '10']);
  });

  it('is not read live by a reader that is behind', async () => {
    const { got, asked } = await follow([[1], [1, 2, 3], [2, 3, 4], [4], [4]], {}, 400);
    expect(got).toEqual(['1', '2', '3', '4']);
    expect(asked.map(({ follow: live }) => live)).toEqual([false, true, false, true, false]);
  });

  it('ends when the container is removed, and fails at first when there is none', async () => {
    const gone = new EngineNotFoundError('no such container', 404);
    expect((await follow([[1], gone])).got).toEqual(['1']);
    await expect(follow([gone])).rejects.toBe(gone);
  });
});
