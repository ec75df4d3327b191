import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holds, Occupancy, slotsIn } from './occupancy.ts';

describe('occupancy', () => {
  it('counts the instances of a deployment on each node, however they come and go', () => {
    const step = fc.record({
      isAdded: fc.boolean(),
      slot: fc.nat(2),
      deployment: fc.constantFrom('web', 'api'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const occupancy = new Occupancy();
        const counted = new Map<string, number>();
        for (const { isAdded, slot, deployment } of steps) {
          const key = `${deployment} ${slot}`;
          const before = counted.get(key) ?? 0;
          // What is not there is never removed: an instance is counted once, and removed where it was counted.
          if (!isAdded && before === 0) continue;
          counted.set(key, before + (isAdded ? 1 : -1));
          if (isAdded) occupancy.add(slot, deployment, []);
          else occupancy.remove(slot, deployment, []);
          for (const name of ['web', 'api']) {
            const there = [0, 1, 2].filter((at) => (counted.get(`${name} ${at}`) ?? 0) > 0);
            const held = occupancy.heldBy(name);
            expect(held === undefined ? [] : [...slotsIn(held)].sort()).toEqual(there);
            for (const at of [0, 1, 2]) {
              expect(occupancy.count(at, name)).toBe(counted.get(`${name} ${at}`) ?? 0);
              expect(holds(held, at)).toBe(there.includes(at));
            }
          }
        }
      }),
    );
  });
});
