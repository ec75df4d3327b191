import { expect, it } from 'vitest';
import { createFoundCache } from './found-cache.ts';

it('keeps an entry for its time and not longer, used or not', () => {
  let now = 0;
  const cache = createFoundCache<string>({ clock: () => now, ttlMs: 10, maxEntries: 9 });
  cache.put('a', 'x');
  now = 9;
  expect(cache.get('a')).toBe('x');
  now = 10;
  expect(cache.get('a')).toBeUndefined();
});

it('drops what was used longest ago', () => {
  const cache = createFoundCache<number>({ clock: () => 0, ttlMs: 10, maxEntries: 2 });
  cache.put('a', 1);
  cache.put('b', 2);
  cache.get('a');
  cache.put('c', 3);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([1, undefined, 3]);
});
