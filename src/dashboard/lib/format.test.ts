import { describe, expect, it } from 'vitest';
import { ago, bytes, cores, count, percent } from './format.ts';

describe('amounts', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [8 * 2 ** 30, '8 GiB'],
    [150 * 2 ** 20, '150 MiB'],
  ])('%d bytes are %s', (value, text) => expect(bytes(value)).toBe(text));
  it.each([
    [1, '1 core'],
    [0.5, '0.5 cores'],
    [2, '2 cores'],
  ])('%d are %s', (value, text) => expect(cores(value)).toBe(text));
  it('count one and many', () => expect([count(1, 'node'), count(2, 'node')]).toEqual(['1 node', '2 nodes']));
  it('of nothing are no share', () => expect(percent(3, 0)).toBe(0));
});

describe('times', () => {
  const now = Date.parse('2026-01-31T12:00:00Z');
  it.each([
    ['2026-01-31T12:00:05Z', 'just now'],
    ['2026-01-31T11:59:30Z', '30 s ago'],
    ['2026-01-31T11:57:00Z', '3 min ago'],
    ['2026-01-31T09:00:00Z', '3 h ago'],
    ['2026-01-01T12:00:00Z', '30 d ago'],
    [null, 'never'],
    ['nonsense', 'unknown'],
  ])('%s is %s', (time, text) => expect(ago(time, now)).toBe(text));
});
