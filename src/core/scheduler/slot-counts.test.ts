import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlotCounts } from './slot-counts.ts';

/** The last ones make the bits longer, or keep them from being worth it. */
const SLOTS = [...Array.from({ length: 40 }, (_, at) => at), 63, 64, 700, 9_999];

describe('slot counts', () => {
  it('count like a map, with few slots and with many', () => {
    const step = fc.record({ isRaised: fc.boolean(), slot: fc.constantFrom(...SLOTS) });
    const steps = fc.array(step, { maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(fc.subarray(SLOTS), steps, (begun, rest) => {
        const counts = new SlotCounts();
        const model = new Map<number, number>();
        for (const { isRaised, slot } of [...begun.map((at) => ({ isRaised: true, slot: at })), ...rest]) {
          const before = model.get(slot) ?? 0;
          if (!isRaised && before === 0) continue;
          if (isRaised) counts.raise(slot);
          else counts.lower(slot);
          if (isRaised || before > 1) model.set(slot, before + (isRaised ? 1 : -1));
          else model.delete(slot);
          expect(counts.size).toBe(model.size);
          expect([counts.has(slot), counts.get(slot)]).toEqual([model.has(slot), model.get(slot) ?? 0]);
        }
        expect([...counts.slots()].toSorted((a, b) => a - b)).toEqual(
          [...model.keys()].toSorted((a, b) => a - b),
        );
        for (const slot of [...SLOTS, 20_000]) {
          expect([counts.has(slot), counts.get(slot)]).toEqual([model.has(slot), model.get(slot) ?? 0]);
        }
      }),
    );
  });
});
