import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TenantTurns } from './turns.ts';

it('tenants take turns, each with its oldest key', () => {
  const turns = new TenantTurns();
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'a/1', 'c/1', 'b/2']) turns.add(key);
  expect(turns.size).toBe(6);
  expect([turns.take(), turns.take()]).toEqual(['a/1', 'b/1']);
  turns.add('d/1');
  turns.delete('c/1');
  turns.delete('c/1');
  turns.add('b/1');
  const rest = Array.from({ length: 6 }, () => turns.take());
  expect(rest).toEqual(['a/2', 'd/1', 'b/2', 'a/3', 'b/1', undefined]);
  expect(turns.size).toBe(0);
});

it('a turn has several keys, so that they share a commit', () => {
  const turns = new TenantTurns(2);
  for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'c/1', 'c/2']) turns.add(key);
  expect(Array.from({ length: 4 }, () => turns.take())).toEqual(['a/1', 'a/2', 'b/1', 'c/1']);
  turns.delete('c/2');
  turns.add('b/2');
  turns.add('c/3');
  expect(Array.from({ length: 4 }, () => turns.take())).toEqual(['c/3', 'a/3', 'b/2', undefined]);
});

it('holds each key once and gives every one of them, none before another tenant had its turn', () => {
  const key = fc
    .tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 4 }))
    .map((parts) => parts.join('/'));
  const step = fc.oneof(
    key.map((added) => ({ add: added })),
    key.map((gone) => ({ remove: gone })),
    fc.constant({ take: true }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(1, 3), (steps, most) => {
      const turns = new TenantTurns(most);
      const held = new Set<string>();
      for (const each of steps) {
        if ('add' in each) {
          turns.add(each.add);
          held.add(each.add);
        } else if ('remove' in each) {
          turns.delete(each.remove);
          held.delete(each.remove);
        } else {
          const taken = turns.take();
          expect(taken === undefined).toBe(held.size === 0);
          if (taken !== undefined) expect(held.delete(taken)).toBe(true);
        }
        expect(turns.size).toBe(held.size);
        for (const one of held) expect(turns.has(one)).toBe(true);
      }
      const tenants = new Set([...held].map(([tenant]) => tenant));
      const round = Array.from({ length: tenants.size * most }, () => turns.take()?.[0]);
      expect(new Set(round.filter((tenant) => tenant !== undefined))).toEqual(tenants);
    }),
  );
});
