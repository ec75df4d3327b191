import process from 'node:process';
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

describe('numbers', () => {
  it.each([
    '0.1e-400',
    '1e-400',
    '-1e-400',
    '1E-99999999999999999999',
    '100.00000000000000001',
    '-3.0000000000000000001',
    '0.99999999999999999',
    '9007199254740990.7',
    '1000000000000000000001e-19',
  ])('%s would be read as a whole one', (number) => {
    expect(Number.isInteger(JSON.parse(number))).toBe(true);
    for (const text of [
      number,
      `[${number}]`,
      `{"a": ${number} ,"b":1}`,
      `[1.5,-${number.replace(/^-/, '')}]`,
    ])
      expect(scanJson(text, 32)).toBe('rounded_number');
  });

  it.each([
    '0',
    '-0',
    '0.0',
    '-0.000e-400',
    '0e400',
    '0.1',
    '1.10',
    '3.0',
    '3.000000000000000000000',
    '1e3',
    '1E+3',
    '10e-1',
    '1.5e1',
    '2500000000000000000000e-20',
    '0.1000000000000000055511151231257827',
    '1.00000000000001',
    '5e-324',
    '9007199254740991',
    '9007199254740993',
    '1e400',
    '-1e400',
    '1e22',
    '9007199254740992.5',
    '"100.00000000000000001"',
    'true',
    'false',
  ])('%s is left to its rule', (value) => {
    for (const text of [value, `[${value}]`, `{"a":${value},"1e-400":"1e-400"}`])
      expect(scanJson(text, 32)).toBeUndefined();
  });

  it('underflow without an exponent, too', () => {
    expect(scanJson(`0.${'0'.repeat(400)}1`, 32)).toBe('rounded_number');
  });

  it('as written by the parser are never rounded', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true }), (value) => scanJson(JSON.stringify(value), 32) === undefined),
    );
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
    '.',
    '1.',
    '.e',
    '[1e]',
    '1.0.00000000000000000001',
    '1e-4e-400',
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

/** Of this thread, however busy the machine is; the least of a few, because the garbage of others may fall into one of them. */
function spentMs(text: string): number {
  const tries = Array.from({ length: 5 }, () => {
    const from = process.threadCpuUsage();
    scanJson(text, 32);
    const { user, system } = process.threadCpuUsage(from);
    return (user + system) / 1000;
  });
  return Math.min(...tries);
}

const SHORT = 1e3;
const LEAST_MS = 0.05;

// A text n times as long takes about n times as long, not the n * n of a scan that goes back over what it has read. The texts grow step by
// step, so that such a scan fails at the first step that shows it, instead of being waited for at the last one.
it.each([
  ['one string of backslashes', (length: number) => `"${'\\'.repeat(length)}"`],
  ['escaped quotes', (length: number) => `"${'\\"'.repeat(length / 2)}"`],
  ['keys without values', (length: number) => `{${'"a"'.repeat(length / 3)}`],
  ['keys and blanks', (length: number) => `{${'"a" '.repeat(length / 4)}`],
  [
    'many keys',
    (length: number) => `{${Array.from({ length: length / 8 }, (_, at) => `"${at}":1`).join(',')}}`,
  ],
  ['one long number', (length: number) => `[1.${'0'.repeat(length)}]`],
  ['digits and dots', (length: number) => '1.'.repeat(length / 2)],
  ['many decimals', (length: number) => `[${'0.5,'.repeat(length / 4)}0]`],
  ['quotes alone', (length: number) => '"'.repeat(length)],
])('takes linear time: %s', (_, textOf) => {
  const short = Math.max(spentMs(textOf(SHORT)), LEAST_MS);
  for (const times of [4, 8, 16, 32, 64])
    expect(spentMs(textOf(times * SHORT)), `${times} times the text`).toBeLessThan(short * times * 4);
});
