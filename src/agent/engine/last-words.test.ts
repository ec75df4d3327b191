import { describe, expect, it } from 'vitest';
import type { LogLine } from './engine.ts';
import { checkResults, deliveredValues, redactedLines } from './last-words.ts';
import { redact } from './redact.ts';

const inspected = (...env: readonly string[]) => ({ Config: { Env: env } });

describe('values that a container was given', () => {
  const values = deliveredValues(
    inspected(
      'PATH=/usr/bin',
      'LANG=C.UTF-8',
      'MODE=production',
      'DB_URL=postgres://app:p%40ss-word-1@db/app',
      'KEY=-----BEGIN KEY-----\nMIIBVQIBADAN\n-----END KEY-----',
    ),
    inspected('LANG=C.UTF-8'),
    { MODE: 'production' },
  );

  it.each([
    ['connects to postgres://app:p%40ss-word-1@db/app', 'connects to [redacted]'],
    ['password p@ss-word-1 is wrong', 'password [redacted] is wrong'],
    ['second line of the key: MIIBVQIBADAN', 'second line of the key: [redacted]'],
    ['production in /usr/bin with C.UTF-8', 'production in /usr/bin with C.UTF-8'],
  ])('are taken out: %s', (line, kept) => expect(redact(line, values)).toBe(kept));

  it('are all that is in the environment, when its image is gone', () => {
    expect(deliveredValues(inspected('LANG=C.UTF-8'), undefined, {})).toContain('C.UTF-8');
  });
});

describe('what a container prints', () => {
  it('is shown without the values that it was given, gaps and streams as they are', async () => {
    async function* lines(): AsyncGenerator<LogLine> {
      yield { stream: 'stdout', line: 'password s3cret-1, again s3cret-1', partial: false, timestamp: 't' };
      yield { stream: 'stderr', line: '', partial: false, gap: { after: 'a', before: 'b' } };
    }
    const shown: LogLine[] = [];
    for await (const line of redactedLines(lines(), ['s3cret-1', 'abc'])) shown.push(line);
    expect(shown).toEqual([
      { stream: 'stdout', line: 'password [redacted], again [redacted]', partial: false, timestamp: 't' },
      { stream: 'stderr', line: '', partial: false, gap: { after: 'a', before: 'b' } },
    ]);
  });
});

describe('the last health checks', () => {
  it.each(['Health', 'Healthcheck'])('are told redacted and bounded, the newest last (%s)', (key) => {
    const Log = Array.from({ length: 7 }, (_, at) => ({
      Start: `2026-01-01T00:00:0${at}Z`,
      ExitCode: at % 2,
      Output: `${at} s3cret-1 ${'x'.repeat(2_000)}s3cret-1\n`,
    }));
    const told = checkResults({ State: { [key]: { Log } } }, ['s3cret-1']);
    expect(told.map(({ at, exitCode }) => [at, exitCode])).toEqual([
      ['2026-01-01T00:00:02Z', 0],
      ['2026-01-01T00:00:03Z', 1],
      ['2026-01-01T00:00:04Z', 0],
      ['2026-01-01T00:00:05Z', 1],
      ['2026-01-01T00:00:06Z', 0],
    ]);
    expect(told.every(({ output }) => output.length <= 1_000 && output.endsWith('[redacted]'))).toBe(true);
    expect(checkResults({ State: {} }, [])).toEqual([]);
  });
});
