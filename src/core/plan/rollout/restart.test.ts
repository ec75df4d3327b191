import { describe, expect, it } from 'vitest';
import { type Mode, RolloutModel } from '../../../../test/support/samples/rollout-model.ts';

function running(mode: Mode, replicas: number): RolloutModel {
  const model = new RolloutModel(mode);
  model.apply('image-1', replicas);
  settle(model);
  expect(model.rollout?.state).toBe('complete');
  return model;
}

/** Answers the fewest that were healthy meanwhile. */
function settle(model: RolloutModel, rounds = 60): number {
  let fewest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    model.nowMs += 1_000;
    model.step();
    model.act();
    fewest = Math.min(fewest, model.healthy().length);
  }
  return fewest;
}

const ids = (model: RolloutModel) => [...model.instances.keys()];

describe('a restart that was asked for', () => {
  it.each(['plain', 'checked'] as const)(
    'replaces every instance once, and none goes before another serves (%s)',
    (mode) => {
      const model = running(mode, 3);
      const before = ids(model);
      model.restart();
      expect(settle(model)).toBeGreaterThanOrEqual(3);
      const after = ids(model);
      expect(after).toHaveLength(3);
      expect(after.filter((id) => before.includes(id))).toEqual([]);
      settle(model);
      expect(ids(model)).toEqual(after);
      expect(model.rollout?.state).toBe('complete');
    },
  );

  it('is of one instance alone where it names one', () => {
    const model = running('checked', 3);
    const [first, ...others] = ids(model);
    model.restart(first);
    settle(model);
    expect(ids(model)).toHaveLength(3);
    expect(ids(model)).toEqual(expect.arrayContaining(others));
    expect(ids(model)).not.toContain(first);
  });

  it.each([86_400_000, -86_400_000])('knows no clock: asked where it is %i ms ahead', (aheadMs) => {
    const model = running('checked', 3);
    const before = ids(model);
    model.restart(undefined, aheadMs);
    settle(model);
    const after = ids(model);
    expect([after.length, after.filter((id) => before.includes(id))]).toEqual([3, []]);
    settle(model);
    expect(ids(model)).toEqual(after);
  });

  it('forgets none when one is asked for after the other', () => {
    const model = running('checked', 3);
    const before = ids(model);
    const [first, second] = before;
    model.restart(first);
    model.restart(second);
    settle(model);
    expect(ids(model).filter((id) => before.includes(id))).toEqual(before.slice(2));
    const then = ids(model);
    model.restart();
    model.step();
    model.restart(then[0]);
    settle(model);
    expect(ids(model).filter((id) => then.includes(id))).toEqual([]);
  });

  it.each(['host-port', 'single-writer'] as const)('stops first where two cannot run (%s)', (mode) => {
    const model = running(mode, 1);
    const before = ids(model);
    model.restart();
    settle(model);
    expect(ids(model)).toHaveLength(1);
    expect(ids(model)).not.toEqual(before);
    expect(model.healthy()).toHaveLength(1);
  });

  it('keeps the old ones where the new ones do not become well', () => {
    const model = running('checked', 2);
    const before = ids(model);
    model.badImages.add('image-1');
    model.restart();
    settle(model, 20);
    expect(ids(model)).toEqual(expect.arrayContaining(before.slice(1)));
  });

  it('holds for what was there when it was asked for, also after an update', () => {
    const model = running('checked', 2);
    model.restart();
    settle(model);
    const after = ids(model);
    model.apply('image-1', 3);
    settle(model);
    expect(ids(model)).toEqual(expect.arrayContaining(after));
  });
});
