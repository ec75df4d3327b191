import { expect, it } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

it.each([
  ['120', 120_000],
  ['0', undefined],
  ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
  ['Wed, 01 Jan 2025 00:00:00 GMT', undefined],
  ['soon', undefined],
  [undefined, undefined],
])('reads Retry-After: %s', (text, ms) => {
  expect(retryAfterMs(text, Date.parse('2026-01-01T00:00:00Z'))).toBe(ms);
});
