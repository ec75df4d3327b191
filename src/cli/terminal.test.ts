import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeLinks, NO_LINKS } from './links.ts';
import { MovingLines } from './moving-lines.ts';
import { makeProgress } from './progress.ts';
import { makeStyle } from './style.ts';
import { columnsOf, systemTerminal, writerTo } from './terminal.ts';

/** Takes the title, the colours, the line before, and with a character of one byte all of it. */
const STEERING = 'a\u001B]0;mine\u0007\u001B[1A\u009B2Jb\u001B[31mred\u001B[0m\n';
const SHOWN = 'a\uFFFD]0;mine\uFFFD\uFFFD[1A\uFFFD2Jb\u001B[31mred\u001B[0m\n';

function written(isTTY: boolean, text: string, links = makeLinks('mark')): string {
  let out = '';
  writerTo({ isTTY, write: (piece) => void (out += piece) }, links)(text);
  return out;
}

describe('what is written', () => {
  it('steers no terminal, and is for a program as it is', () => {
    expect(written(true, STEERING)).toBe(SHOWN);
    expect(written(false, STEERING)).toBe(STEERING);
    // On a terminal without links nothing is one, whatever mark it bears.
    expect(written(true, STEERING, NO_LINKS)).toBe(SHOWN);
    expect(written(true, '\u001B]8;;https://here\u001B\\x', NO_LINKS)).not.toContain('\u001B');
  });

  it('has room also on a terminal that was not told its size', () => {
    expect([
      columnsOf({ columns: 0, write: () => true }),
      columnsOf({ columns: 40, write: () => true }),
    ]).toEqual([100, 40]);
  });
});

describe('standard input', () => {
  const inputOf = (bytes: Buffer): Promise<string> => {
    const stdin = vi.spyOn(process, 'stdin', 'get');
    // Of the stream only its bytes are read.
    stdin.mockReturnValue(Readable.from([bytes]) as typeof process.stdin);
    return systemTerminal({})
      .readInput()
      .finally(() => stdin.mockRestore());
  };

  it('is whole: what begins it too', async () => {
    expect(await inputOf(Buffer.from('\uFEFFp\u00e4ss\n'))).toBe('\uFEFFp\u00e4ss\n');
  });

  it('is refused when it is not UTF-8, rather than altered', async () => {
    await expect(inputOf(Buffer.from('a\np\xe4ss', 'latin1'))).rejects.toThrow(
      'standard input: line 2 is not UTF-8 text',
    );
  });
});

/** What is drawn and taken back on a terminal of this size, which may change. */
function drawing(size: { columns: number; rows: number }, errLive = true) {
  const drawn: string[] = [];
  const write = (text: string) => void drawn.push(text);
  const moving = new MovingLines({
    columns: () => size.columns,
    write,
    erase: (above) => void drawn.push(`<erased ${above}>`),
  });
  const err = (text: string) => moving.above(text, write);
  const draw = (lines: readonly string[]) => moving.draw(lines);
  const progress = makeProgress({ errStyle: makeStyle(false), errLive, errSize: size, err, draw });
  return { drawn, progress, err };
}

const part = (name: string, text: string, isWell = false) => ({ name, text, isWell });

describe('a step under way', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());

  it('is drawn in one line, whatever its note has in it', () => {
    const { drawn, progress } = drawing({ columns: 40, rows: 24 });
    progress.step('web\nsecond line').fail('why');
    expect(drawn.slice(0, 2)).toEqual([expect.stringMatching(/^. web second line$/), '<erased 0>']);
  });

  it('has a line for each part, those with trouble first, and takes back as many as it drew', () => {
    const { drawn, progress } = drawing({ columns: 30, rows: 24 });
    const step = progress.step('web');
    step.parts([
      part('web-1 on vm', 'healthy', true),
      part('web-2 on 港町', 'starting:\n待っています、まだです'),
    ]);
    vi.advanceTimersByTime(80);
    expect(drawn.slice(1)).toEqual([
      '<erased 0>',
      expect.stringMatching(/^. web\n {2}· web-2 on 港町: starting:…\n {2}✔ web-1 on vm: healthy$/),
    ]);
    step.done('2 of 2');
    expect(drawn.slice(-2)).toEqual(['<erased 2>', '✔ web: 2 of 2\n']);
  });

  it('takes nothing back of a window that became too narrow for it: that may be what stood before', () => {
    const size = { columns: 30, rows: 24 };
    const { drawn, progress } = drawing(size);
    const step = progress.step('web is rolling out');
    size.columns = 21;
    vi.advanceTimersByTime(80);
    size.columns = 15;
    vi.advanceTimersByTime(80);
    expect(drawn.slice(1)).toEqual([
      '<erased 0>',
      expect.stringMatching(/^. web is rolling out$/),
      '\n',
      expect.stringMatching(/^. web is roll…$/),
    ]);
    step.done();
  });

  it('stands below what is written meanwhile', () => {
    const { drawn, progress, err } = drawing({ columns: 60, rows: 24 });
    const step = progress.step('web');
    step.parts([part('web-1', 'starting')]);
    vi.advanceTimersByTime(80);
    const [before, at] = [drawn.at(-1), drawn.length];
    err('example has not answered for 5 s; still waiting\n');
    expect(drawn.slice(at)).toEqual([
      '<erased 1>',
      'example has not answered for 5 s; still waiting\n',
      before,
    ]);
    step.done();
    err('after it');
    expect(drawn.at(-1)).toBe('after it');
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
    step.parts([part('web-1', 'exited:\nno such file')]);
    step.done('well');
    expect(drawn).toEqual([
      '  web-1: starting\n',
      '  web-2: starting\n',
      '  web-1: healthy\n',
      '  web-1: exited: no such file\n',
      '✔ web: well\n',
    ]);
  });
});
