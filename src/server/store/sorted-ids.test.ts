import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SortedIds } from './sorted-ids.ts';

function scanned(ids: SortedIds, from: string, limit = Number.POSITIVE_INFINITY): string[] {
  const found: string[] = [];
  ids.scan(from, (id) => {
    if (found.length === limit) return false;
    found.push(id);
    return true;
  });
  return found;
}

describe('sorted ids', () => {
  it('are those inserted and not deleted, in order, from any place', () => {
    const id = fc.integer({ min: 0, max: 3000 }).map(String);
    fc.assert(
      fc.property(
        fc.array(id, { maxLength: 2500, size: 'max' }),
        fc.array(id),
        id,
        (inserted, deleted, from) => {
          const ids = new SortedIds();
          const expected = new Set<string>();
          for (const one of inserted) {
            if (!expected.has(one)) ids.insert(one);
            expected.add(one);
          }
          for (const one of deleted) {
            ids.delete(one);
            expected.delete(one);
          }
          const sorted = [...expected].sort();
          expect(ids.all()).toEqual(sorted);
          expect(scanned(ids, from)).toEqual(sorted.filter((one) => one >= from));
          expect(scanned(ids, '', 3)).toEqual(sorted.slice(0, 3));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('stay in order through many runs, however they come', () => {
    const ids = new SortedIds();
    const all = Array.from({ length: 5000 }, (_, n) => String(n).padStart(5, '0'));
    for (const id of all.filter((_, n) => n % 2 === 0)) ids.insert(id);
    for (const id of all.filter((_, n) => n % 2 === 1).reverse()) ids.insert(id);
    expect(ids.all()).toEqual(all);
    for (const id of all.slice(100)) ids.delete(id);
    expect(ids.all()).toEqual(all.slice(0, 100));
  });
});
