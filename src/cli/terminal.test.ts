import { describe, expect, it } from 'vitest';
import { makeProgress } from './progress.ts';
import { makeStyle } from './style.ts';
import { columnsOf, writerTo } from './terminal.ts';

/** Takes the title, the colours, the line before, and with a character of one byte all of it. */
const STEERING = 'a\u001B]0;mine\u0007\u001B[1A\u009B2Jb\u001B[31mred\u001B[0m\n';
const SHOWN = 'a\uFFFD]0;mine\uFFFD\uFFFD[1A\uFFFD2Jb\u001B[31mred\u001B[0m\n';

function written(isTTY: boolean, text: string): string {
  let out = '';
  writerTo({
    isTTY,
    write: (piece) => {
      out += piece;
    },
  })(text);
  return out;
}

describe('what is written', () => {
  it('steers no terminal, and is for a program as it is', () => {
    expect(written(true, STEERING)).toBe(SHOWN);
    expect(written(false, STEERING)).toBe(STEERING);
  });

  it('has room also on a terminal that was not told its size', () => {
    expect([
      columnsOf({ columns: 0, write: () => true }),
      columnsOf({ columns: 40, write: () => true }),
    ]).toEqual([100, 40]);
  });
});

describe('a step under way', () => {
  it('is drawn in one line, whatever its note has in it', () => {
    const drawn: string[] = [];
    const step = makeProgress({
      errStyle: makeStyle(false),
      errLive: true,
      columns: 40,
      err: (text) => void drawn.push(text),
      eraseLine: () => void drawn.push('<erased>'),
    }).step('web\nsecond line');
    step.fail('why');
    expect(drawn.slice(0, 3)).toEqual(['<erased>', expect.stringMatching(/^. web second line$/), '<erased>']);
  });
});
