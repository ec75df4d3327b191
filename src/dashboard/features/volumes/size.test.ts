import { describe, expect, it } from 'vitest';
import { sizeOrText } from './size.ts';

describe('sizeOrText', () => {
  it.each([
    ['10Gi', 10 * 2 ** 30],
    ['1.5 GiB', 1.5 * 2 ** 30],
    ['134217728', 134_217_728],
    ['256Mi', 256 * 2 ** 20],
  ])('reads %s', (text, bytes) => {
    expect(sizeOrText(text)).toBe(bytes);
  });

  it.each(['', 'big', '10G', '-1Gi'])('leaves %j to the server', (text) => {
    expect(sizeOrText(text)).toBe(text);
  });
});
