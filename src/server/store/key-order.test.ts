import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKeys, prefixEnd } from './key-order.ts';

const text = fc.string({ unit: 'binary', maxLength: 8 });
const bytesOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe('key order', () => {
  it('is the order of UTF-8 bytes', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(bytesOrder(a, b));
      }),
    );
    expect(compareKeys('\uffff', '😀')).toBeLessThan(0);
  });

  it('ends a prefix after its keys and before all others that follow', () => {
    fc.assert(
      fc.property(text, text, text, (prefix, rest, other) => {
        const end = prefixEnd(prefix);
        if (end === undefined) return;
        expect(bytesOrder(prefix + rest, end)).toBe(-1);
        if (bytesOrder(other, prefix) >= 0 && !other.startsWith(prefix))
          expect(bytesOrder(other, end)).not.toBe(-1);
      }),
    );
    expect(prefixEnd('a/')).toBe('a0');
    expect(prefixEnd('a\u{10ffff}')).toBe('b');
    expect(prefixEnd('\ud7ff')).toBe('\ue000');
    expect(prefixEnd('')).toBeUndefined();
    expect(prefixEnd('\u{10ffff}')).toBeUndefined();
  });
});
