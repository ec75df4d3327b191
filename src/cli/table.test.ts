import { describe, expect, it } from 'vitest';
import { clipped, displayWidth } from './display-width.ts';
import { makeStyle, printable, wantsColour } from './style.ts';
import { age, expiry, spanText, tableText } from './table.ts';

const plain = makeStyle(false);

describe('a table', () => {
  it('has columns as wide as their widest cell and no space at the end of a line', () => {
    expect(
      tableText(
        ['NAME', 'X'],
        [
          ['a', '1'],
          ['longer', ''],
        ],
        plain,
        undefined,
      ),
    ).toBe('NAME     X\na        1\nlonger\n');
  });

  it('is cut at the width of the terminal', () => {
    expect(tableText(['NAME'], [['äöü-and-more']], plain, 6)).toBe('NAME\näöü-a…\n');
  });

  it('measures cells without their colours', () => {
    const style = makeStyle(true);
    const lines = tableText(
      ['A', 'B'],
      [
        [style.red('x'), 'y'],
        ['zz', 'y'],
      ],
      plain,
      undefined,
    ).split('\n');
    expect(lines[1]).toBe(`${style.red('x')}    y`);
  });

  it('does not pass on what would steer the terminal', () => {
    expect(tableText(['M'], [['a\u001B]0;title\u0007b\nc']], plain, undefined)).toBe(
      'M\na\uFFFD]0;title\uFFFDb c\n',
    );
    expect(printable('ok\tand\nthis\r')).toBe('ok\tand\nthis');
    expect(printable('web\u202E.gpj\u2066 👩‍🚀')).toBe('web\uFFFD.gpj\uFFFD 👩‍🚀');
  });
});

describe('an age', () => {
  it.each([
    [0, '0s'],
    [8_400, '8s'],
    [90_000, '1m30s'],
    [12 * 60_000 + 30_000, '12m'],
    [3_600_000 * 5, '5h'],
    [86_400_000 * 3 + 3_600_000 * 4, '3d4h'],
  ])('%d ms is %s', (ms, text) => expect(spanText(ms)).toBe(text));

  it('is empty for what is no time, and never negative', () => {
    expect(age('', 0)).toBe('');
    expect(age('2026-01-01T00:00:10Z', Date.parse('2026-01-01T00:00:00Z'))).toBe('0s');
  });
});

describe('an expiry', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  it.each([
    ['2026-04-01T00:00:00Z', 'in 90d'],
    ['2026-01-01T02:30:00Z', 'in 2h30m'],
    ['2026-01-01T00:00:00Z', '0s ago'],
    ['2025-12-31T22:00:00Z', '2h ago'],
    ['', ''],
  ])('%s is %j', (at, text) => {
    expect(expiry(at, now)).toBe(text);
  });
});

describe('colour', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
  ])('terminal %s, %o: %s', (terminal, environment, expected) =>
    expect(wantsColour(terminal, environment)).toBe(expected),
  );
});

describe('the width of a text', () => {
  it.each([
    ['web', 3],
    ['äöü', 3],
    ['e\u0301', 1],
    ['日本語', 6],
    ['한국', 4],
    ['🙂', 2],
    ['👩‍🔧', 2],
    ['🇩🇪', 2],
    ['❤️', 2],
    ['a\u200Bb', 2],
    ['\u001B[31mred\u001B[39m', 3],
    ['✔ …│', 4],
  ])('of %s is %d', (text, width) => expect(displayWidth(text)).toBe(width));

  it('is kept when it is clipped, with letters whole and colours ended', () => {
    expect(clipped('🙂🙂🙂', 3)).toBe('🙂…');
    expect(clipped('🙂🙂🙂', 4)).toBe('🙂…');
    expect(clipped('日本語', 5)).toBe('日本…');
    expect(clipped('e\u0301e\u0301e\u0301', 2)).toBe('e\u0301…');
    expect(clipped('\u001B[31mredder\u001B[39m', 4)).toBe('\u001B[31mred…\u001B[0m');
  });

  it('lays out a table of wide letters', () => {
    expect(
      tableText(
        ['N', 'X'],
        [
          ['日本', '1'],
          ['abc', '2'],
        ],
        plain,
        undefined,
      ),
    ).toBe('N      X\n日本   1\nabc    2\n');
  });
});

describe('a narrow terminal', () => {
  const headers = ['NAME', 'PHASE', 'IMAGE', 'MESSAGE'];
  const row = [
    'hello',
    'Running',
    'registry.example.com/berth/hello:1.0',
    'the image cannot be pulled: no such host',
  ];

  it.each([80, 50])('of %d columns has every column, and no line that wraps', (columns) => {
    const lines = tableText(headers, [row], plain, columns).trimEnd().split('\n');
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    expect(lines[0]).toMatch(/^NAME +PHASE +IMAGE +MESSAGE$/);
    expect(lines[1]).toMatch(/^hello +Running +registr[^ ]+ +the image .*…$/);
  });

  it('leaves out what is before the message rather than that, and marks it', () => {
    const named = [['a-rather-long-name-of-a-shop', ...row.slice(1)], row];
    expect(tableText(headers, named, plain, 61)).toBe(
      [
        'NAME                           PHASE     …   MESSAGE',
        'a-rather-long-name-of-a-shop   Running       the image canno…',
        'hello                          Running       the image canno…',
        '',
      ].join('\n'),
    );
    expect(tableText(headers, named, plain, 60)).toMatch(/^NAME {27}…   MESSAGE\n/);
    const narrow = tableText(headers, named, plain, 30).split('\n');
    expect(narrow[0]).toBe('NAME                         …');
    for (const line of narrow) expect(displayWidth(line)).toBeLessThanOrEqual(30);
  });

  it('keeps the first columns where the last one is no message', () => {
    const tokens = ['ID', 'NAME', 'ROLE', 'STATUS', 'EXPIRES', 'AGE'];
    const token = ['tok_01m7mrk35mbhdkt60m02d98gk4', 'deploys', 'developer', 'active', 'in 89d', '12m'];
    expect(tableText(tokens, [token], plain, 50)).toMatch(/^ID {31}NAME +ROLE.*\ntok_\w+ {3}deploys +dev/);
  });

  it('is no matter of a file', () => {
    expect(tableText(headers, [row], plain, undefined)).toContain(row[3] ?? '');
  });
});
