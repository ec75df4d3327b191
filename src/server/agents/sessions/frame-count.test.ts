import { describe, expect, it } from 'vitest';
import { FrameCount } from './frame-count.ts';

function frame(length: number, masked: boolean): Buffer {
  const mask = masked ? 0x80 : 0;
  const head =
    length < 126
      ? Buffer.from([0x81, mask | length])
      : length < 65_536
        ? Buffer.from([0x81, mask | 126, length >> 8, length & 255])
        : Buffer.from([0x81, mask | 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255]);
  return Buffer.concat([head, Buffer.alloc(masked ? 4 : 0, 0xff), Buffer.alloc(length, 0xff)]);
}

const FRAMES = [0, 1, 125, 126, 300, 65_535, 65_536, 70_000, 0, 0].flatMap((length) => [
  frame(length, true),
  frame(length, false),
]);

describe('frames', () => {
  it.each([1, 2, 3, 7, 13, 1000, 65_536, 1_000_000])('are counted in pieces of %i bytes', (size) => {
    const whole = Buffer.concat(FRAMES);
    const count = new FrameCount();
    let frames = 0;
    for (let at = 0; at < whole.length; at += size) frames += count.take(whole.subarray(at, at + size));
    expect(frames).toBe(FRAMES.length);
  });
});
