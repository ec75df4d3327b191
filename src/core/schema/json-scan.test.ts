import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanJson } from './json-scan.ts';

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('depth', () => {
  it.each([
    ['1', 0],
    ['"[[[["', 0],
    ['{"a":"{{{"}', 1],
    ['[[],[]]', 2],
    [nested(32), 32],
    ['{"a\\"[[[":[]}', 2],
    ['["\\\\",[]]', 2],
  ])('%s has %i levels', (text, depth) => {
    expect(scanJson(text, depth)).toBeUndefined();
    if (depth > 0) expect(scanJson(text, depth - 1)).toBe('too_deep');
  });

  it.each([33, 1000, 10_000, 1_000_000])('refuses %i levels', (depth) => {
    expect(scanJson(nested(depth), 32)).toBe('too_deep');
    expect(scanJson('{"a":'.repeat(depth), 32)).toBe('too_deep');
  });
});

describe('members', () => {
  it.each([
    ['[1,2,3,4]', 4],
    ['{"a":[1,2],"b":{"c":",,,,,[[["},"d":1}', 6],
    ['[[],[],[]]', 6],
    ['{"a":{"a":{}}}', 3],
  ])('%s has %i of them', (text, members) => {
    expect(scanJson(text, 32, members)).toBeUndefined();
    expect(scanJson(text, 32, members - 1)).toBe('too_many');
  });

  it('are counted before the rest is read', () => {
    expect(scanJson(`[${'1,'.repeat(10)}${'['.repeat(100)}`, 32, 5)).toBe('too_many');
  });
});

describe('keys', () => {
  it.each([
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"a":1 , "a" \n : 2}', 'duplicate_key'],
    ['[{"b":{"a":1,"c":[],"a":2}}]', 'duplicate_key'],
    ['{"":1,"":2}', 'duplicate_key'],
    ['{"__proto__":1}', 'prototype_key'],
    ['{"a":[{"\\u005f_proto__":{}}]}', 'prototype_key'],
    ['{"a":{"b":1},"c":{"b":1}}', undefined],
    ['[{"a":1},{"a":1}]', undefined],
    ['{"a":"a","b":"a"}', undefined],
    ['{"a":["a","a"]}', undefined],
    ['{"constructor":1,"toString":2,"hasOwnProperty":3}', undefined],
    ['["__proto__"]', undefined],
    ['{"a":"__proto__"}', undefined],
    ['{"a":1,"A":2}', undefined],
  ])('%s', (text, problem) => {
    expect(scanJson(text, 32)).toBe(problem);
  });
});

describe('broken text', () => {
  it.each([
    '',
    '"',
    '{"',
    '{"a',
    '{"a\\',
    '{"a\\"',
    ']]]]',
    '}{',
    '{"\\u00":1}',
    '{"\\x":1,"\\x":2}',
    '\\"[[[',
  ])('%j is left to the parser', (text) => {
    expect(scanJson(text, 32)).toBeUndefined();
    expect(() => JSON.parse(text) as unknown).toThrow();
  });

  it('never throws', () => {
    const piece = fc.constantFrom('"', '\\', '{', '}', '[', ']', ':', ',', 'a', ' ', '\\u0061', '__proto__');
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        scanJson(pieces.join(''), 8);
      }),
    );
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

it('agrees with the parser on every document', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.nat({ max: 6 }),
      fc.constantFrom(undefined, 2),
      (value, maxDepth, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        fc.pre(!text.includes('__proto__'));
        expect(scanJson(text, maxDepth)).toBe(depthOf(JSON.parse(text)) > maxDepth ? 'too_deep' : undefined);
      },
    ),
  );
});

it('takes linear time', () => {
  const started = performance.now();
  for (const text of [
    `"${'\\'.repeat(1e6)}"`,
    `"${'\\"'.repeat(5e5)}"`,
    `{${'"a"'.repeat(3e5)}`,
    `{${'"a" '.repeat(2e5)}`,
    `{${Array.from({ length: 1e5 }, (_, index) => `"${index}":1`).join(',')}}`,
    '"'.repeat(1e6),
  ])
    scanJson(text, 32);
  expect(performance.now() - started).toBeLessThan(2000);
});
