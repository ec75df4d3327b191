import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LogTail } from './log-tail.ts';

function tail(limit: number, ...parts: readonly string[]): LogTail {
  const log = new LogTail(limit);
  for (const part of parts) log.add(Buffer.from(part));
  return log;
}

it.each([
  ['all of a short text', 20, ['one\n', 'two\n'], 'one\ntwo\n', 0],
  ['whole lines of a long one', 8, ['one\ntwo\nthree\n'], 'three\n', 8],
  ['a line that fits exactly', 6, ['one\n', 'three\n'], 'three\n', 4],
  ['the end of a line that is too long', 4, ['abcdefgh'], 'efgh', 4],
  ['nothing of nothing', 4, [], '', 0],
])('keeps %s', (_what, limit, parts, text, dropped) => {
  const log = tail(limit, ...parts);
  expect([log.text(), log.dropped]).toEqual([text, dropped]);
});

it('keeps an end of what was printed within its bounds, and counts the rest', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '\n') })),
      fc.nat(40),
      (parts, extra) => {
        const limit = extra + 1;
        const whole = parts.join('');
        const log = tail(limit, ...parts);
        expect(log.text().length).toBeLessThanOrEqual(limit);
        expect(whole.endsWith(log.text())).toBe(true);
        expect(log.dropped + log.text().length).toBe(whole.length);
      },
    ),
  );
});
