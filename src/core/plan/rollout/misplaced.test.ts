import { describe, expect, it } from 'vitest';
import type { NodeName } from '../../model/ids.ts';
import type { InstancePlan } from './instances.ts';
import { NODES, RolloutModel } from '../../../../test/support/samples/rollout-model.ts';

const WHY = 'needs country DE, the node is in FR';

function settle(model: RolloutModel, watch: (plan: InstancePlan) => void = () => undefined): void {
  for (let round = 0; round < 20; round += 1) {
    watch(model.step());
    model.act();
    model.nowMs += 11_000;
  }
}

function running(mode: ConstructorParameters<typeof RolloutModel>[0]): RolloutModel {
  const model = new RolloutModel(mode);
  settle(model);
  expect(model.status?.phase).toBe('Running');
  return model;
}

const nodesOf = (model: RolloutModel): readonly NodeName[] =>
  [...model.instances.values()].map(({ nodeId }) => nodeId);
const kinds = (plans: readonly InstancePlan[]): readonly string[] =>
  plans.flatMap(({ events }) => events.map(({ kind }) => kind));

describe('instances where their residency no longer allows them', () => {
  it('are moved, and a successor is healthy before one stops', () => {
    const model = running('checked');
    const [from] = nodesOf(model);
    if (from === undefined) throw new Error('nothing placed');
    model.forbidden.set(from, WHY);
    const plans: InstancePlan[] = [];
    settle(model, (plan) => {
      plans.push(plan);
      expect(model.healthy().length).toBeGreaterThanOrEqual(2);
    });
    expect(nodesOf(model)).not.toContain(from);
    expect(model.status?.phase).toBe('Running');
    expect(kinds(plans).filter((kind) => kind === 'deployment.misplaced')).toHaveLength(1);
    const replaced = plans.flatMap(({ events }) => events).find(({ kind }) => kind === 'instance.replaced');
    expect(replaced?.message).toContain(WHY);
  });

  it('stay when no other node takes them, and that is told once with both values', () => {
    const model = running('checked');
    for (const node of NODES) model.forbidden.set(node, WHY);
    const plans: InstancePlan[] = [];
    settle(model, (plan) => plans.push(plan));
    expect(model.healthy()).toHaveLength(2);
    expect(model.status).toMatchObject({ phase: 'Degraded', message: expect.stringContaining(WHY) });
    expect(kinds(plans).filter((kind) => kind === 'deployment.misplaced')).toHaveLength(1);
    model.forbidden.clear();
    settle(model);
    expect(model.status?.phase).toBe('Running');
    expect(model.rollout?.misplaced).toBeUndefined();
  });

  it('of a single writer stays where its volume is', () => {
    const model = running('single-writer');
    model.forbidden.set('n0' as NodeName, WHY);
    settle(model);
    expect(model.healthy()).toHaveLength(1);
    expect(model.status).toMatchObject({ phase: 'Degraded', message: expect.stringContaining(WHY) });
  });

  it('of an older spec are told too: the new one asks for another residency', () => {
    const model = running('checked');
    for (const node of NODES) model.forbidden.set(node, WHY);
    model.apply('image-1', 2);
    settle(model);
    expect(model.status).toMatchObject({ phase: 'Degraded', message: expect.stringContaining(WHY) });
    expect(model.healthy()).toHaveLength(2);
  });
});

describe('an update at exactly the quota', () => {
  it.each(['plain', 'checked'] as const)('makes its way by stopping first, one at a time (%s)', (mode) => {
    const model = running(mode);
    model.quota = 2;
    model.apply('image-1', 2);
    const plans: InstancePlan[] = [];
    settle(model, (plan) => {
      plans.push(plan);
      expect(model.instances.size).toBeLessThanOrEqual(2);
      expect(model.healthy().length).toBeGreaterThanOrEqual(1);
    });
    expect(model.status).toMatchObject({ phase: 'Running', healthy: 2, updated: 2 });
    const first = plans.flatMap(({ events }) => events).find(({ kind }) => kind === 'instance.replaced');
    expect(first?.message).toContain('stopped before its successor starts');
  });

  it('moves what is on a node that is being drained', () => {
    const model = running('checked');
    model.quota = 2;
    const [from] = nodesOf(model);
    const node = from && model.nodes.get(from);
    if (node === undefined) throw new Error('nothing placed');
    node.draining = true;
    settle(model);
    expect(nodesOf(model)).not.toContain(from);
    expect(model.status).toMatchObject({ phase: 'Running', healthy: 2 });
  });

  it('gives nothing up for a spec that needs more than the old one held', () => {
    const model = running('checked');
    model.quota = 1;
    model.apply('image-1', 2);
    settle(model);
    expect(model.healthy()).toHaveLength(2);
  });
});
