import { expect, it } from 'vitest';
import { colouredLines } from '../../scripts/terminal/colours.ts';
import { terminalPicture } from '../../scripts/terminal/picture.ts';

const ESC = '\u001B[';

it('keeps a look over the end of a line until it is changed', () => {
  const captured = `${ESC}32m✔${ESC}39m ready ${ESC}1;31mno\nstill${ESC}0m plain`;
  expect(colouredLines(captured)).toEqual([
    [
      { text: '✔', look: 'g' },
      { text: ' ready ', look: '' },
      { text: 'no', look: 'B r' },
    ],
    [
      { text: 'still', look: 'B r' },
      { text: ' plain', look: '' },
    ],
  ]);
});

it('draws every line at its time, as text, in light and dark, without a script', () => {
  const picture = terminalPicture('a <title>', [
    { spans: [{ text: '$ berth <x> & y', look: '' }], atMs: 0 },
    { spans: [], atMs: 100 },
    { spans: [{ text: 'done', look: 'g' }], atMs: 2340 },
  ]);
  expect(picture).toContain('>$ berth &lt;x&gt; &amp; y</text>');
  expect(picture).toContain('style="animation-delay:2.3s"><tspan class="g">done</tspan></text>');
  expect(picture.match(/<text /g)).toHaveLength(2);
  expect(picture).toContain('prefers-color-scheme:dark');
  expect(picture).not.toMatch(/<script|href|url\(/);
});
