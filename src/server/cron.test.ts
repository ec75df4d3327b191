import { describe, expect, it } from 'vitest';
import { parseSchedule } from './cron.ts';

const FROM = Date.UTC(2026, 0, 1, 12, 0, 0, 500);

function next(text: string, from = FROM): string | undefined {
  const parsed = parseSchedule(text);
  if ('problem' in parsed) throw new Error(parsed.problem);
  const ms = parsed.nextAfter(from);
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

describe('a schedule', () => {
  it.each([
    ['* * * * *', '2026-01-01T12:01:00.000Z'],
    ['*/2 * * * * *', '2026-01-01T12:00:02.000Z'],
    ['0 3 * * *', '2026-01-02T03:00:00.000Z'],
    ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
    ['0 0 L * *', '2026-01-31T00:00:00.000Z'],
  ])('%s is next at %s, in UTC whatever the machine says', (text, at) => {
    expect(next(text)).toBe(at);
  });

  it('is after the given moment, never at it', () => {
    expect(next('0 3 * * *', Date.UTC(2026, 0, 1, 3))).toBe('2026-01-02T03:00:00.000Z');
  });

  it('may never come', () => {
    expect(next('0 0 30 2 *')).toBeUndefined();
  });

  it.each([
    '',
    'every night',
    '* * * *',
    '* * * * * * *',
    '60 * * * *',
    '@daily',
    '? * * * *',
    '* '.repeat(5000),
  ])('%j cannot be read', (text) => {
    // Said within a sentence of ours, so without the parser's own name and full stop.
    expect(parseSchedule(text)).toHaveProperty('problem', expect.not.stringMatching(/^\w+: |\.$/));
  });
});
