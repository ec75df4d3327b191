import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfPrefix, keyAfter, keySpaceUnder } from './key-space.ts';

const text = fc.string({ unit: 'binary' }).filter((value) => value.isWellFormed());

describe('endOfPrefix', () => {
  it('is above everything with the prefix and nothing else', () => {
    fc.assert(
      fc.property(text.filter(Boolean), text, (prefix, other) => {
        const end = endOfPrefix(prefix);
        expect(Buffer.from(prefix + other).compare(end)).toBeLessThan(0);
        const inside =
          Buffer.from(other).compare(Buffer.from(prefix)) >= 0 && Buffer.from(other).compare(end) < 0;
        expect(inside).toBe(Buffer.from(other).indexOf(Buffer.from(prefix)) === 0);
      }),
    );
  });

  it('refuses an empty prefix, under which etcd would see the keys of others', () => {
    expect(() => endOfPrefix('')).toThrow();
    expect(() => keySpaceUnder('')).toThrow();
  });
});

describe('key space', () => {
  const keys = keySpaceUnder('/berth/');

  it('adds and removes the prefix', () => {
    fc.assert(fc.property(text.filter(Boolean), (key) => keys.fromEtcd(keys.toEtcd(key)) === key));
  });

  it('keeps its own key out of the entries and in the whole', () => {
    expect(() => keys.toEtcd('')).toThrow(RangeError);
    expect(keys.bounds('').first).toBe(keyAfter(keys.markerKey));
    expect(keys.all.first).toBe(keys.markerKey);
  });
});
