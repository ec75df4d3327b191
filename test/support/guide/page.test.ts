import { describe, expect, it } from 'vitest';
import { parsePage } from './page.ts';

const fence = '```';
const page = (...lines: readonly string[]): ReturnType<typeof parsePage> =>
  parsePage('page.md', lines.join('\n'));

describe('a page of the guide', () => {
  it('is its commands with what they say', () => {
    const { steps } = page(
      `${fence}console`,
      '$ one \\',
      '  more',
      'said',
      '$ two <<END',
      'in',
      'END',
      fence,
    );
    expect(steps).toMatchObject([
      { kind: 'command', line: 2, text: 'one \\\n  more', expected: ['said'], status: 0 },
      { kind: 'command', line: 5, text: 'two <<END\nin\nEND', expected: [], status: 0 },
    ]);
  });

  it('takes markers for the next block only', () => {
    const { steps, engines, machines } = page(
      '<!-- guide:engines 2 -->',
      '<!-- guide:machine berlin-1 -->',
      '<!-- guide:status 4 -->',
      `${fence}console`,
      '$ first',
      '$ second',
      fence,
      `${fence}sh`,
      'third',
      fence,
      '<!-- guide:skip needs a moon -->',
      `${fence}sh`,
      'fourth',
      fence,
      '<!-- guide:file a.yaml -->',
      `${fence}yaml`,
      'a: 1',
      fence,
      '<!-- guide:run',
      'hidden',
      '-->',
    );
    expect(engines).toBe(2);
    expect(machines).toEqual(['berlin-1']);
    expect(steps).toMatchObject([
      { text: 'first', status: 0 },
      { text: 'second', status: 4 },
      { text: 'third', status: 0, expected: undefined },
      { kind: 'skipped', reason: 'needs a moon', commands: 1 },
      { kind: 'file', name: 'a.yaml', text: 'a: 1\n' },
      { text: 'hidden' },
    ]);
  });

  it.each([
    ['a block without a language', [fence, 'x', fence], /page\.md:1/],
    ['a skip without a reason', ['<!-- guide:skip -->', `${fence}sh`, 'x', fence], /needs a value/],
    ['an unknown marker', ['<!-- guide:skipp x -->'], /unknown marker/],
    ['a block without an end', [`${fence}sh`, 'x'], /does not end/],
  ])('is refused with %s', (_what, lines, words) => {
    expect(() => page(...lines)).toThrow(words);
  });
});
