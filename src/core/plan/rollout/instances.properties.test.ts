import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UpdatePolicy } from '../../model/deployment.ts';
import type { NodeName } from '../../model/ids.ts';
import { type Mode, NODES, RolloutModel } from '../../../../test/support/samples/rollout-model.ts';
import { inTier } from '../../../../test/support/fault-tier.ts';

const RUNS = inTier({ usual: 1_000, long: 20_000 });
const ROUNDS_TO_CONVERGE = 60;

type Step =
  | {
      readonly kind: 'apply';
      readonly image: number;
      readonly replicas: number;
      readonly update: UpdatePolicy;
    }
  | { readonly kind: 'node'; readonly node: NodeName; readonly status: 'ready' | 'silent' | 'lost' | 'gone' }
  | { readonly kind: 'drain'; readonly node: NodeName; readonly on: boolean }
  | { readonly kind: 'break'; readonly image: number; readonly on: boolean }
  | { readonly kind: 'gate'; readonly closed: boolean }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'restart' | 'act' | 'plan' | 'delete' };

const image = fc.integer({ min: 0, max: 3 });
const node = fc.constantFrom(...NODES);
const update = fc
  .record({ maxSurge: fc.integer({ min: 0, max: 2 }), maxUnavailable: fc.integer({ min: 0, max: 3 }) })
  .filter(({ maxSurge, maxUnavailable }) => maxSurge + maxUnavailable > 0);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('apply' as const),
      image,
      replicas: fc.integer({ min: 0, max: 3 }),
      update,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('node' as const),
      node,
      status: fc.constantFrom('ready', 'ready', 'silent', 'lost', 'gone'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('drain' as const), node, on: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('break' as const), image, on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('gate' as const), closed: fc.boolean() }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.constantFrom(1000, 11_000, 700_000) }),
  },
  { weight: 7, arbitrary: fc.constant({ kind: 'act' as const }) },
  { weight: 7, arbitrary: fc.constant({ kind: 'plan' as const }) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'restart' as const }, { kind: 'delete' as const }) },
);

function take(model: RolloutModel, move: Step): void {
  switch (move.kind) {
    case 'apply':
      model.apply(
        `image-${move.image}`,
        model.mode === 'single-writer' ? Math.min(1, move.replicas) : move.replicas,
        move.update,
      );
      break;
    case 'node': {
      const state = model.nodes.get(move.node);
      // A node that left stays away: its name would be a new node.
      if (state && state.status !== 'gone') state.status = move.status;
      break;
    }
    case 'drain': {
      const state = model.nodes.get(move.node);
      if (state) state.draining = move.on;
      break;
    }
    case 'break':
      if (move.on) model.badImages.add(`image-${move.image}`);
      else model.badImages.delete(`image-${move.image}`);
      break;
    case 'gate':
      model.gateClosed = move.closed;
      break;
    case 'time':
      model.nowMs += move.ms;
      break;
    case 'restart':
      model.memory = undefined;
      break;
    case 'delete':
      model.deployment = undefined;
      break;
    case 'act':
      model.act();
      break;
    case 'plan':
      planLawfully(model);
      break;
    default:
      move satisfies never;
  }
}

/** One step of the planner, held to the laws of a rollout (fault F-23). */
function planLawfully(model: RolloutModel): boolean {
  const healthyBefore = model.healthy().length;
  const runBefore = model.present().filter((record) => record.wanted === 'run').length;
  const plan = model.step();
  const spec = model.deployment?.spec;
  if (spec === undefined) expect(plan.create).toEqual([]);
  if (model.gateClosed) expect(plan.create).toEqual([]);
  const desired = spec?.replicas ?? 0;
  const { maxSurge = 1, maxUnavailable = 0 } = spec?.update ?? {};
  const floor = desired === 0 ? 0 : Math.max(1, desired - maxUnavailable);
  const run = model.present().filter((record) => record.wanted === 'run').length;
  if (plan.create.length > 0) expect(run).toBeLessThanOrEqual(desired + Math.max(1, maxSurge));
  else expect(run).toBeLessThanOrEqual(runBefore);
  if (model.mode === 'single-writer') expect(model.present().length).toBeLessThanOrEqual(1);
  const healthy = model.healthy().length;
  if (model.mode === 'plain' || model.mode === 'checked') {
    expect(healthy).toBeGreaterThanOrEqual(Math.min(healthyBefore, floor));
  }
  if (model.mode === 'host-port' && desired > 0) {
    // One at a time makes room for its successor.
    expect(healthy).toBeGreaterThanOrEqual(Math.min(healthyBefore, floor) - 1);
  }
  if (plan.status?.phase === 'Running') {
    expect(
      model.healthy().filter((record) => record.specHash === model.deployment?.specHash).length,
    ).toBeGreaterThanOrEqual(desired);
  }
  return plan.create.length + plan.stop.length + plan.remove.length > 0;
}

/** A cut-off node is lost for good: the wanted number runs elsewhere, and what returns with the node is told to stop. */
function convergeWithout(model: RolloutModel, lost: NodeName): void {
  repair(model);
  const state = model.nodes.get(lost);
  if (state) state.status = 'lost';
  settle(model);
  const desired = model.deployment?.spec.replicas ?? 0;
  expect(model.healthy()).toHaveLength(desired);
  const behind = [...model.instances.values()].filter((record) => record.nodeId === lost);
  expect(behind.every((record) => record.wanted === 'stop')).toBe(true);
}

function repair(model: RolloutModel): void {
  for (const state of model.nodes.values()) {
    state.status = 'ready';
    state.draining = false;
  }
  model.badImages.clear();
  model.gateClosed = false;
}

function settle(model: RolloutModel): void {
  let changed = true;
  for (let round = 0; round < ROUNDS_TO_CONVERGE && changed; round += 1) {
    changed = false;
    for (let again = 0; again < 3; again += 1) {
      changed = planLawfully(model) || changed;
      model.act();
      model.nowMs += 11_000;
    }
  }
  expect(changed).toBe(false);
}

/** Nothing is broken any more: the planner must reach exactly what is wanted and then leave it alone. */
function converge(model: RolloutModel): void {
  repair(model);
  settle(model);
  const desired = model.deployment?.spec.replicas ?? 0;
  const left = [...model.instances.values()];
  expect(left).toHaveLength(desired);
  expect(
    left.every((record) => record.wanted === 'run' && record.specHash === model.deployment?.specHash),
  ).toBe(true);
  if (model.deployment) {
    expect(model.status?.phase).toBe(desired === 0 ? 'Stopped' : 'Running');
    expect(model.rollout?.state).toBe('complete');
  }
}

describe('rollout laws', () => {
  it.each<Mode>(['plain', 'checked', 'host-port', 'single-writer'])(
    'hold for every history and end in exactly what is wanted: %s',
    (mode) => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 40 }), node, (history, lost) => {
          const model = new RolloutModel(mode);
          for (const move of history) take(model, move);
          if (mode === 'plain' || mode === 'checked') convergeWithout(model, lost);
          converge(model);
        }),
        { numRuns: RUNS },
      );
    },
  );
});
