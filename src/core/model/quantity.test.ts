import { performance } from 'node:perf_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatBytes, parseDuration, parseMemory } from './quantity.ts';

describe('memory', () => {
  it.each([
    ['0', 0],
    ['1048576', 1_048_576],
    ['1k', 1000],
    ['1Ki', 1024],
    ['256Mi', 268_435_456],
    ['1.5Gi', 1_610_612_736],
    ['500M', 500_000_000],
    ['2G', 2e9],
    ['1Ti', 2 ** 40],
    ['8191Ti', 8191 * 2 ** 40],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseMemory(text)).toBe(bytes);
  });

  it.each([
    '',
    ' ',
    '-1',
    '+1',
    '1 Mi',
    '1mi',
    '1K',
    '1MB',
    '1e6',
    '0x10',
    '.5Gi',
    '1.Gi',
    '1,5Gi',
    '١',
    '1Mi\n',
    '8192Ti',
  ])('%j is none', (text) => {
    expect(parseMemory(text)).toBeUndefined();
  });

  it('is a safe integer whenever it is one', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^\d{1,17}(\.\d{1,7})?(Ki|Mi|Gi|Ti|k|M|G|T)?$/), (text) => {
        const bytes = parseMemory(text);
        expect(bytes === undefined || (Number.isSafeInteger(bytes) && bytes >= 0)).toBe(true);
      }),
    );
  });
});

describe('durations', () => {
  it.each([
    ['0s', 0],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['1.5s', 1500],
    ['0.001s', 1],
    ['1h', 3_600_000],
    ['1h2m3s4ms', 3_723_004],
    ['90m', 5_400_000],
    ['1m1ms', 60_001],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    '10',
    's',
    'ms',
    '-1s',
    '1 s',
    '1S',
    '30s1m',
    '1s1s',
    '1.5m',
    '1d',
    '1.s',
    '1.0001s',
    '10s\n',
    '1e3s',
  ])('%j is none', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('reads what it is made of', () => {
    const part = fc.nat({ max: 999_999 });
    fc.assert(
      fc.property(part, part, part, part, (h, m, s, ms) => {
        expect(parseDuration(`${h}h${m}m${s}s${ms}ms`)).toBe(h * 3_600_000 + m * 60_000 + s * 1000 + ms);
      }),
    );
  });

  it('takes little time on any text', () => {
    const started = performance.now();
    for (const text of ['1'.repeat(1e6), '1m'.repeat(5e5), `${'1'.repeat(9)}.${'1'.repeat(1e6)}`]) {
      expect(parseDuration(text)).toBeUndefined();
      expect(parseMemory(text)).toBeUndefined();
    }
    expect(performance.now() - started).toBeLessThan(200);
  });
});

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [2 ** 30, '1 GiB'],
  [5 * 2 ** 40, '5 TiB'],
])('%d is shown as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
