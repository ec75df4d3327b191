import { describe, expect, it } from 'vitest';
import { utf8Length } from '../model/text-bytes.ts';
import { KeptLines } from './kept-lines.ts';

const LINES = 20;
const BYTES = 200;

/** Numbers below `most` that come in the same order in each run. */
function draws(): (most: number) => number {
  let state = 7;
  return (most) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % most;
  };
}

describe('kept lines', () => {
  it('are the newest ones, unharmed, as many as fit', () => {
    const kept = new KeptLines({ lines: LINES, bytes: BYTES });
    const draw = draws();
    const all: { readonly level: number; readonly line: string }[] = [];
    for (let count = 0; count < 3_000; count += 1) {
      // Of one, two and three bytes in UTF-8; some are empty.
      const line = ['a', 'é', '…'][draw(3)]?.repeat(draw(count % 100 < 50 ? 4 : 25)) ?? '';
      const level = draw(4);
      all.push({ level, line });
      kept.add(level, line);
      const held = kept.tail(LINES, 0);
      expect(held).toEqual(all.slice(-held.length).map((one) => one.line));
      const next = all.at(-1 - held.length)?.line;
      const bytes = held.reduce((sum, one) => sum + utf8Length(one), 0);
      // What does not fit at the end of the memory begins at its start.
      if (next !== undefined && held.length < LINES)
        expect(bytes + utf8Length(next) + 75).toBeGreaterThan(BYTES);
      expect(kept.tail(3, 2)).toEqual(
        all
          .slice(-held.length)
          .filter((one) => one.level >= 2)
          .slice(-3)
          .map((one) => one.line),
      );
    }
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
