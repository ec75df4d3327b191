import { describe, expect, it } from 'vitest';
import { containerOf, type Mode, RolloutModel } from '../../../../test/support/samples/rollout-model.ts';
import type { InstanceId } from '../../model/ids.ts';

function running(mode: Mode, replicas: number): RolloutModel {
  const model = new RolloutModel(mode);
  model.apply('image-1', replicas);
  settle(model);
  expect(model.rollout?.state).toBe('complete');
  return model;
}

/** Answers every kind of event on the way. */
function settle(model: RolloutModel, rounds = 60): readonly string[] {
  const kinds: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    model.nowMs += 1_000;
    kinds.push(...model.step().events.map(({ kind }) => kind));
    model.act();
  }
  return kinds;
}

const ids = (model: RolloutModel): readonly InstanceId[] => [...model.instances.keys()];

describe('an order to one instance', () => {
  it.each(['plain', 'checked', 'host-port', 'single-writer'] as const)(
    'restarts it in its place, once (%s)',
    (mode) => {
      const model = running(mode, mode === 'single-writer' ? 1 : 2);
      const before = [...model.instances.values()];
      const [first] = before;
      if (first === undefined) throw new Error('none');
      model.order('restart', first.id);
      const kinds = settle(model);
      const after = model.instances.get(first.id);
      expect(ids(model)).toEqual(before.map(({ id }) => id));
      expect([after?.attempt, after?.nodeId]).toEqual([first.attempt + 1, first.nodeId]);
      expect(kinds.filter((kind) => kind === 'instance.restarted')).toHaveLength(1);
      expect(kinds).not.toContain('instance.failed');
      expect(model.status?.phase).toBe('Running');
    },
  );

  it.each(['plain', 'checked', 'host-port', 'single-writer'] as const)(
    'stops it, and the deployment places another one (%s)',
    (mode) => {
      const replicas = mode === 'single-writer' ? 1 : 2;
      const model = running(mode, replicas);
      const [first, ...others] = ids(model);
      if (first === undefined) throw new Error('none');
      model.order('stop', first);
      const plan = model.step();
      expect(model.instances.get(first)?.wanted).toBe('stop');
      // A second writer is never started beside the one that stops.
      if (mode === 'single-writer') expect(plan.create).toEqual([]);
      expect(plan.events.map(({ kind }) => kind)).toContain('instance.stopping');
      settle(model);
      expect(ids(model)).toHaveLength(replicas);
      expect(ids(model)).toEqual(expect.arrayContaining(others));
      expect(ids(model)).not.toContain(first);
      expect(model.healthy()).toHaveLength(replicas);
    },
  );

  it('is carried out for one that failed, and does not count as an order of its health', () => {
    const model = running('checked', 2);
    const [first] = [...model.instances.values()];
    if (first === undefined) throw new Error('none');
    model.hung.add(containerOf(first));
    settle(model, 3);
    model.order('restart', first.id);
    settle(model, 5);
    expect(model.instances.get(first.id)).toMatchObject({ attempt: first.attempt + 1 });
    expect(model.instances.get(first.id)?.healthRestarts).toBeUndefined();
    expect(model.healthy()).toHaveLength(2);
  });

  it('is not carried out again after an update, nor for what is gone', () => {
    const model = running('checked', 2);
    const [first] = ids(model);
    if (first === undefined) throw new Error('none');
    model.order('stop', first);
    settle(model);
    const after = ids(model);
    const { orders } = model.deployment ?? {};
    model.apply('image-1', 3);
    if (model.deployment && orders) model.deployment = { ...model.deployment, orders };
    settle(model);
    expect(ids(model)).toEqual(expect.arrayContaining([...after]));
    expect(ids(model)).toHaveLength(3);
  });
});
