import { describe, expect, it } from 'vitest';
import { OutputQueue } from './output-queue.ts';

describe('output of a terminal', () => {
  it('is drawn in order, a piece at a time', () => {
    const drawn: string[] = [];
    const waiting: (() => void)[] = [];
    const queue = new OutputQueue((piece, done) => {
      drawn.push(typeof piece === 'string' ? piece : new TextDecoder().decode(piece));
      waiting.push(done);
    });
    for (const text of ['a', 'b', 'c']) queue.add(new TextEncoder().encode(text));
    expect(drawn).toEqual(['a']);
    waiting.shift()?.();
    waiting.shift()?.();
    waiting.shift()?.();
    expect(drawn).toEqual(['a', 'b', 'c']);
  });

  it('loses its oldest when it comes faster than it is drawn, and says how much', () => {
    const drawn: (Uint8Array | string)[] = [];
    let done: (() => void) | undefined;
    const queue = new OutputQueue((piece, next) => {
      drawn.push(piece);
      done = next;
    });
    for (let at = 0; at < 64; at += 1) queue.add(new Uint8Array(64 * 1024).fill(at));
    done?.();
    expect(drawn[1]).toContain('[3,080,192 bytes were printed too fast to be shown]');
    for (let at = 0; at < 64; at += 1) done?.();
    const bytes = drawn.filter((piece) => typeof piece !== 'string');
    expect(bytes.map((piece) => piece[0])).toEqual([0, ...Array.from({ length: 16 }, (_, at) => 48 + at)]);
  });
});
