import fc from 'fast-check';
import { expect, it } from 'vitest';
import { canonicalJson } from './canonical.ts';

it.each<readonly [unknown, string]>([
  [{ b: 1, a: { d: 1, c: 2 } }, '{"a":{"c":2,"d":1},"b":1}'],
  [{ a: undefined, b: null }, '{"b":null}'],
  [[undefined, { a: undefined }], '[null,{}]'],
  [undefined, 'null'],
  [-0, '0'],
  ['\u2028"', '"\u2028\\""'],
  [{ 10: 1, 9: 2, a: 3 }, '{"10":1,"9":2,"a":3}'],
])('%j', (value, text) => {
  expect(canonicalJson(value)).toBe(text);
});

it('is JSON of the same value, whatever the order of the keys', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(reversed(value))).toBe(text);
    }),
  );
});

it.each([3, 24, 25, 60])('has %i keys in the order of sort, each as JSON writes it', (count) => {
  const odd = ['', '"', '\\', 'é', '💥', '\ud800', '\uffff', '\u007f', 'a b', '__proto__', '10', '9', '\n'];
  const keys = Array.from(
    { length: count },
    (_, at) => `${odd[at % odd.length] ?? ''}${at % 7 === 0 ? '' : at}`,
  );
  const members = [...new Set(keys)].sort().map((key) => `${JSON.stringify(key)}:${JSON.stringify(key)}`);
  expect(canonicalJson(Object.fromEntries(keys.map((key) => [key, key])))).toBe(`{${members.join(',')}}`);
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

it('tells different values apart', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const same = canonicalJson(a) === canonicalJson(b);
      const equal =
        JSON.stringify(JSON.parse(canonicalJson(a))) === JSON.stringify(JSON.parse(canonicalJson(b)));
      expect(same).toBe(equal);
    }),
  );
});
