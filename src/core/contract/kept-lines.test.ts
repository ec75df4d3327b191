import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8Length } from '../model/text-bytes.ts';
import { KeptLines } from './kept-lines.ts';

const LINES = 20;
const BYTES = 200;

/** Of one, two and three bytes in UTF-8; some are empty. */
const line = fc
  .tuple(fc.constantFrom('a', 'é', '…'), fc.oneof(fc.nat(3), fc.nat(25)))
  .map(([sign, count]) => sign.repeat(count));
const LONGEST = 75;

describe('kept lines', () => {
  it('are the newest ones, unharmed, as many as fit', () => {
    const sequence = fc.array(fc.record({ level: fc.nat(3), line }), { minLength: 50, maxLength: 200 });
    fc.assert(
      fc.property(sequence, (all) => {
        const kept = new KeptLines({ lines: LINES, bytes: BYTES });
        for (const [at, { level, line: text }] of all.entries()) {
          kept.add(level, text);
          const told = all.slice(0, at + 1);
          const held = kept.tail(LINES, 0);
          expect(held).toEqual(told.slice(told.length - held.length).map((one) => one.line));
          const next = told[told.length - held.length - 1]?.line;
          const bytes = held.reduce((sum, one) => sum + utf8Length(one), 0);
          // What does not fit at the end of the memory begins at its start.
          if (next !== undefined && held.length < LINES)
            expect(
              bytes + utf8Length(next) + held.filter((one) => one === '').length + LONGEST,
            ).toBeGreaterThanOrEqual(BYTES);
          const severe = told.slice(told.length - held.length).filter((one) => one.level >= 2);
          expect(kept.tail(3, 2)).toEqual(severe.slice(-3).map((one) => one.line));
        }
      }),
    );
  });

  it('are none after one that does not fit by itself, and then those that come', () => {
    const kept = new KeptLines({ lines: LINES, bytes: BYTES });
    for (const line of ['a', 'b', 'x'.repeat(BYTES)]) kept.add(1, line);
    expect(kept.tail(LINES, 0)).toEqual(['x'.repeat(BYTES)]);
    kept.add(1, 'x'.repeat(BYTES + 1));
    expect(kept.tail(LINES, 0)).toEqual([]);
    kept.add(1, 'c');
    expect(kept.tail(LINES, 0)).toEqual(['c']);
  });
});
