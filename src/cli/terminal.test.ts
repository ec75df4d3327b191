import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeLinks } from './links.ts';
import { makeProgress } from './progress.ts';
import { makeStyle } from './style.ts';
import { columnsOf, writerTo } from './terminal.ts';

/** Takes the title, the colours, the line before, and with a character of one byte all of it. */
const STEERING = 'a\u001B]0;mine\u0007\u001B[1A\u009B2Jb\u001B[31mred\u001B[0m\n';
const SHOWN = 'a\uFFFD]0;mine\uFFFD\uFFFD[1A\uFFFD2Jb\u001B[31mred\u001B[0m\n';

function written(isTTY: boolean, text: string): string {
  let out = '';
  writerTo({ isTTY, write: (piece) => void (out += piece) }, makeLinks('mark'))(text);
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

/** What is drawn and taken back on a terminal of this size, which may change. */
function drawing(size: { columns: number; rows: number }, errLive = true) {
  const drawn: string[] = [];
  const progress = makeProgress({
    errStyle: makeStyle(false),
    errLive,
    errSize: size,
    err: (text) => void drawn.push(text),
    eraseLines: (above) => void drawn.push(`<erased ${above}>`),
  });
  return { drawn, progress };
}

const part = (name: string, text: string, isWell = false) => ({ name, text, isWell });

describe('a step under way', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  it('is drawn in one line, whatever its note has in it', () => {
    const { drawn, progress } = drawing({ columns: 40, rows: 24 });
    progress.step('web\nsecond line').fail('why');
    expect(drawn.slice(0, 3)).toEqual([
      '<erased 0>',
      expect.stringMatching(/^. web second line$/),
      '<erased 0>',
    ]);
  });

  it('has a line for each part, those with trouble first, and takes back as many as it drew', () => {
    const size = { columns: 30, rows: 24 };
    const { drawn, progress } = drawing(size);
    const step = progress.step('web');
    step.parts([
      part('web-1 on vm', 'healthy', true),
      part('web-2 on 港町', 'starting:\n待っています、まだです'),
    ]);
    vi.advanceTimersByTime(80);
    expect(drawn.slice(2)).toEqual([
      '<erased 0>',
      expect.stringMatching(/^. web\n {2}· web-2 on 港町: starting:…\n {2}✔ web-1 on vm: healthy$/),
    ]);
    // Half as wide: two of the three lines take two rows each.
    size.columns = 15;
    step.done('2 of 2');
    expect(drawn.slice(-2)).toEqual(['<erased 4>', '✔ web: 2 of 2\n']);
  });

  it('draws no more than the terminal has rows for', () => {
    const { drawn, progress } = drawing({ columns: 60, rows: 6 });
    const step = progress.step('web');
    step.parts([1, 2, 3, 4, 5].map((n) => part(`web-${n}`, 'starting', n === 1)));
    vi.advanceTimersByTime(80);
    expect(drawn.at(-1)?.split('\n').slice(1)).toEqual([
      '  · web-2: starting',
      '  · web-3: starting',
      '  · web-4: starting',
      '    and 2 more, 1 of them well',
    ]);
    step.done();
  });

  it('writes a line for each part that changed where lines cannot be taken back', () => {
    const { drawn, progress } = drawing({ columns: 40, rows: 24 }, false);
    const step = progress.step('web');
    step.parts([part('web-1', 'starting'), part('web-2', 'starting')]);
    step.parts([part('web-1', 'healthy', true), part('web-2', 'starting')]);
    step.done('well');
    expect(drawn).toEqual([
      '  web-1: starting\n',
      '  web-2: starting\n',
      '  web-1: healthy\n',
      '✔ web: well\n',
    ]);
  });
});
