import { expect, it } from 'vitest';
import type { CanaryRecord } from '../../model/canary.ts';
import type { CanaryChanges, InstancePlan, WantedPlan } from './instances.ts';

const END = {
  create: [],
  stop: [],
  remove: [],
  events: [],
  memory: { instances: new Map() },
  more: false,
} as const;

/** Compiled and not called. */
export function unwritable(plan: WantedPlan, record: CanaryRecord, { create }: WantedPlan): unknown {
  const { status, rollout, adopt, deployment } = plan;
  const abort = { reason: 'unhealthy', message: '' } as const;
  // @ts-expect-error a deleted deployment has no status
  const told: InstancePlan = { ...END, status };
  // @ts-expect-error nor a rollout
  const rolled: InstancePlan = { ...END, rollout };
  // @ts-expect-error and gets no instances
  const created: InstancePlan = { ...END, create };
  // @ts-expect-error nor has it a canary
  const beside: InstancePlan = { ...END, canary: { record, create } };
  // @ts-expect-error a deployment has a rollout
  const without: InstancePlan = { ...END, deployment, status, adopt };
  // @ts-expect-error changes of a canary are those of one
  const nobody: CanaryChanges = { create };
  // @ts-expect-error one that is given up gets no instances
  const both: CanaryChanges = { record, abort, create };
  return [told, rolled, created, beside, without, nobody, both];
}

it('a plan says by its deployment whether there is one', () => {
  const plan: InstancePlan = END;
  expect(plan.deployment).toBeUndefined();
});
