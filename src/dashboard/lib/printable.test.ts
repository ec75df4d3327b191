import { describe, expect, it } from 'vitest';
import { printable } from './printable.ts';

describe('a line of a workload', () => {
  it.each([
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007text', 'text'],
    ['a\u202eb', 'ab'],
    ['tab\tstays', 'tab\tstays'],
    ['<script>', '<script>'],
    ['bell\u0007', 'bell'],
  ])('%j is shown as %j', (line, text) => expect(printable(line)).toBe(text));
});
