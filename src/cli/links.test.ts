import { describe, expect, it } from 'vitest';
import { clipped, displayWidth } from './display-width.ts';
import { makeLinks, wantsLinks } from './links.ts';
import { makeStyle } from './style.ts';
import { tableText } from './table.ts';
import { writerTo } from './terminal.ts';

const links = makeLinks('7f3a');
const URL_A = 'https://berth.example.com/docs/errors/image_unpinned';

function written(isTTY: boolean, text: string): string {
  let out = '';
  writerTo({ isTTY, write: (piece) => void (out += piece) }, links)(text);
  return out;
}

describe('a link of a terminal', () => {
  it('is one for the terminal, and takes no more room than its text', () => {
    const text = links.link('image_unpinned', URL_A);
    expect(written(true, `refused: ${text}\n`)).toBe(
      `refused: \u001B]8;;${URL_A}\u001B\\image_unpinned\u001B]8;;\u001B\\\n`,
    );
    expect(displayWidth(text)).toBe(14);
  });

  it('is made by nobody else: not with another mark, not without one, and not by a text in it', () => {
    const hostile = '\u001B]8;;https://evil.example/\u001B\\web\u001B]8;;\u001B\\';
    const guessed = hostile.replaceAll(']8;;', ']8;7f3b;');
    for (const text of [hostile, guessed])
      expect(written(true, links.link(text, URL_A))).not.toMatch(/\u001B\]8;[^;]*;https:\/\/evil/);
    expect(written(true, hostile)).not.toContain('\u001B');
  });

  it('leads to addresses of HTTP alone, as they are written in one', () => {
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'web', ''])
      expect(links.link('x', url)).toBe('x');
    expect(written(true, links.link('x', 'https://a.example/\u001B\\\u0007 ü'))).toBe(
      '\u001B]8;;https://a.example/%1B/%07%20%C3%BC\u001B\\x\u001B]8;;\u001B\\',
    );
  });

  it('ends where its text is cut, and is the whole address then', () => {
    const text = links.link('https://shop.example.com/', 'https://shop.example.com/');
    expect(links.shown(clipped(`  ${text} and more`, 12))).toBe(
      '  \u001B]8;;https://shop.example.com/\u001B\\https://s\u001B]8;;\u001B\\…',
    );
    const style = makeStyle(false, links.link);
    const table = tableText(
      ['URL'],
      [['https://shop.example.com/']],
      style,
      12,
      () => 'https://shop.example.com/',
    );
    expect(links.shown(table)).toBe(
      'URL\n\u001B]8;;https://shop.example.com/\u001B\\https://sho\u001B]8;;\u001B\\…\n',
    );
  });

  it('is wanted on terminals that have links', () => {
    const wanted = (environment: Record<string, string>, isTerminal = true) =>
      wantsLinks(isTerminal, environment);
    expect(wanted({ TERM: 'xterm-kitty' })).toBe(true);
    expect(wanted({ TERM: 'xterm-256color', VTE_VERSION: '7200' })).toBe(true);
    expect(wanted({ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' })).toBe(true);
    expect(wanted({ TERM: 'tmux-256color', TERM_PROGRAM: 'tmux', TERM_PROGRAM_VERSION: '3.4' })).toBe(true);
    expect(wanted({ TERM: 'screen', TERM_PROGRAM: 'tmux', TERM_PROGRAM_VERSION: '3.3a' })).toBe(false);
    expect(wanted({ TERM: 'screen', VTE_VERSION: '7200' })).toBe(false);
    expect(wanted({ TERM: 'xterm-256color' })).toBe(false);
    expect(wanted({ TERM: 'linux', FORCE_HYPERLINK: '1' })).toBe(true);
    expect(wanted({ TERM: 'xterm-kitty', FORCE_HYPERLINK: '0' })).toBe(false);
    expect(wanted({ TERM: 'xterm-kitty', NO_COLOR: '1' })).toBe(false);
    expect(wanted({ TERM: 'dumb', FORCE_HYPERLINK: '1' })).toBe(false);
    expect(wanted({ TERM: 'xterm-kitty', FORCE_HYPERLINK: '1' }, false)).toBe(false);
  });
});
