import { afterEach, describe, expect, it, vi } from 'vitest';
import { LoopState } from '../../src/agent/containers/loop-state.ts';
import { planInstance } from '../../src/agent/containers/plan.ts';
import type * as InstanceStates from '../../src/core/plan/rollout/instance-state.ts';
import type * as NodeLiveness from '../../src/core/plan/liveness/node-liveness.ts';
import type * as Rollout from '../../src/core/plan/rollout/rollout.ts';
import type * as Quota from '../../src/core/scheduler/filters/quota.ts';
import { planForgetfully } from '../support/simulation/forgetful-agent.ts';
import { simulate } from '../support/simulation/run.ts';
import { type Parts, SOUND } from '../support/simulation/world.ts';

/**
 * S-03: a simulation that finds nothing proves nothing. Each of these mistakes was made by somebody, somewhere; each has to be
 * found by a law within a number of seeds, all of which hold without them. They are put in place of the real functions here and nowhere else.
 */
const SEEDS = 120;

const planted = vi.hoisted(
  (): {
    instanceState?: (real: typeof InstanceStates.instanceState) => typeof InstanceStates.instanceState;
    judgeNodes?: (real: typeof NodeLiveness.judgeNodes) => typeof NodeLiveness.judgeNodes;
    missing?: (real: typeof Rollout.missing) => typeof Rollout.missing;
    surplus?: (real: typeof Rollout.surplus) => typeof Rollout.surplus;
    withinQuota?: (real: typeof Quota.withinQuota) => typeof Quota.withinQuota;
  } => ({}),
);

vi.mock('../../src/core/plan/rollout/instance-state.ts', async (original) => {
  const real = await original<typeof InstanceStates>();
  const instanceState: typeof real.instanceState = (...asked) =>
    (planted.instanceState?.(real.instanceState) ?? real.instanceState)(...asked);
  return { ...real, instanceState };
});
vi.mock('../../src/core/plan/liveness/node-liveness.ts', async (original) => {
  const real = await original<typeof NodeLiveness>();
  const judgeNodes: typeof real.judgeNodes = (...asked) =>
    (planted.judgeNodes?.(real.judgeNodes) ?? real.judgeNodes)(...asked);
  return { ...real, judgeNodes };
});
vi.mock('../../src/core/plan/rollout/rollout.ts', async (original) => {
  const real = await original<typeof Rollout>();
  const missing: typeof real.missing = (...asked) =>
    (planted.missing?.(real.missing) ?? real.missing)(...asked);
  const surplus: typeof real.surplus = (...asked) =>
    (planted.surplus?.(real.surplus) ?? real.surplus)(...asked);
  return { ...real, missing, surplus };
});
vi.mock('../../src/core/scheduler/filters/quota.ts', async (original) => {
  const real = await original<typeof Quota>();
  const withinQuota: typeof real.withinQuota = (...asked) =>
    (planted.withinQuota?.(real.withinQuota) ?? real.withinQuota)(...asked);
  return { ...real, withinQuota };
});

afterEach(() => {
  for (const name of Object.keys(planted) as (keyof typeof planted)[]) delete planted[name];
});

interface Bug {
  readonly name: string;
  /** The law that has to find it. */
  readonly law: RegExp;
  /** Where it is looked for first, if it takes a rare meeting; absent: 1. */
  readonly from?: number;
  readonly planted?: typeof planted;
  readonly parts?: Partial<Parts>;
}

/** Takes an older assignment for a newer one. */
class Obedient extends LoopState {
  override assign(assignment: Parameters<LoopState['assign']>[0]): boolean {
    this.generation = 0;
    return super.assign(assignment);
  }
}

const BUGS: readonly Bug[] = [
  {
    name: 'a planner that takes running for healthy',
    law: /^health/,
    planted: {
      instanceState: (real) => (record, input) => {
        const state = real(record, input);
        return { ...state, healthy: state.running, available: state.running };
      },
    },
  },
  {
    name: 'a planner that adds without a bound',
    law: /^count/,
    planted: { missing: () => (groups, budget) => Math.max(0, budget.desired - groups.keep.length) },
  },
  {
    name: 'a planner that keeps what is too much',
    law: /^(convergence|count)/,
    planted: { surplus: () => () => [] },
  },
  {
    name: 'nodes that fail without a grace',
    law: /^liveness/,
    planted: {
      judgeNodes: (real) => (input) =>
        real({ ...input, timings: { ...input.timings, failAfterMs: 6000, replaceAfterMs: 10_000 } }),
    },
  },
  {
    name: 'nodes that fail because the control plane was away',
    law: /^liveness/,
    planted: {
      judgeNodes: (real) => (input) => real({ ...input, timings: { ...input.timings, startGraceMs: 0 } }),
    },
  },
  {
    name: 'no brake when most nodes are silent',
    law: /^brake/,
    planted: {
      judgeNodes: (real) => (input) => real({ ...input, timings: { ...input.timings, brakeShare: 1 } }),
    },
  },
  { name: 'a quota that is not asked', law: /^quota/, planted: { withinQuota: () => () => true } },
  {
    name: 'an agent that makes containers again after its restart',
    law: /^(one container|convergence)/,
    parts: { planInstance: planForgetfully },
  },
  {
    name: 'an agent that takes absence for an order to stop',
    law: /^orders/,
    parts: {
      planInstance: (view, id) =>
        planInstance({ ...view, condemned: new Set(view.containers.keys()) }, id) ??
        [...view.containers.keys()]
          .filter((other) => !view.assigned.has(other))
          .map((other) => planInstance({ ...view, condemned: new Set([other]) }, other))[0],
    },
  },
  {
    name: 'an agent that obeys old orders',
    law: /^(orders|convergence)/,
    from: 40,
    parts: { newState: () => new Obedient() },
  },
  {
    name: 'a control plane that lets everything be removed that is asked about',
    law: /^verdict/,
    parts: { mayRemove: () => true },
  },
  {
    name: 'a store without compare-and-set',
    law: /^(count|one place|monotone|health|convergence)/,
    from: 40,
    parts: {
      store: (kv) => ({ ...kv, commit: ({ guards: _unheeded, ...commit }) => kv.commit(commit) }),
    },
  },
  {
    name: 'silence measured by the wall clock',
    law: /^(liveness|convergence|brake|orders)/,
    parts: {
      clock: (time) => ({ now: () => time.now(), monotonicMs: () => time.now().getTime() }),
    },
  },
];

describe('a planted bug is found', () => {
  it.each(BUGS)('$name', { timeout: 240_000 }, async ({ name, law, from = 1, planted: mistake, parts }) => {
    Object.assign(planted, mistake);
    for (let seed = from; seed < from + SEEDS; seed += 1) {
      const run = await simulate(seed, { ...SOUND, ...parts });
      if (run.broken === undefined) continue;
      console.log(`${name}: seed ${seed}: ${run.broken}`);
      expect(run.broken).toMatch(law);
      return;
    }
    expect.fail(`not found within ${SEEDS} seeds`);
  });
});
