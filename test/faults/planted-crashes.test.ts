import { afterEach, describe, expect, it, vi } from 'vitest';
import { runOf } from '../../src/core/model/job-run.ts';
import type * as JobPlanner from '../../src/core/plan/jobs/jobs.ts';
import { DrainController } from '../../src/server/reconcile/nodes/drain.ts';
import { InstancesController } from '../../src/server/reconcile/instances/instances.ts';
import { JobsController } from '../../src/server/reconcile/jobs/jobs.ts';
import { SpecSnapshotsController } from '../../src/server/reconcile/instances/spec-snapshots.ts';
import { VolumesController } from '../../src/server/reconcile/volumes/volumes.ts';
import { crashEverywhere } from '../support/simulation/crash-run.ts';
import { planForgetfully } from '../support/simulation/forgetful-agent.ts';
import { RECONCILE_PATHS } from '../support/simulation/reconcile-paths.ts';
import { type Parts, SOUND } from '../support/simulation/world.ts';

/**
 * Crashes at every point that find nothing prove nothing. Each of these mistakes goes unnoticed as long as no process dies, and has to
 * be found on its path. They are put in place of the real parts here and nowhere else.
 */
const planted = vi.hoisted(() => ({ attemptsFromMemory: false }));

vi.mock('../../src/core/plan/jobs/jobs.ts', async (original) => {
  const real = await original<typeof JobPlanner>();
  const planJob: typeof real.planJob = (input) => {
    const { status, memory } = input;
    const run = status?.runs.at(-1);
    if (!planted.attemptsFromMemory || memory !== undefined || status === undefined || run === undefined)
      return real.planJob(input);
    const { attempt: _unknown, ...rest } = run;
    return real.planJob({
      ...input,
      status: { ...status, runs: [...status.runs.slice(0, -1), runOf(rest)] },
    });
  };
  return { ...real, planJob };
});

afterEach(() => {
  planted.attemptsFromMemory = false;
  vi.restoreAllMocks();
});

interface Bug {
  readonly name: string;
  readonly path: string;
  /** What finds it. */
  readonly law: RegExp;
  readonly plant?: () => void;
  readonly parts?: Partial<Parts>;
}

/** It hears of changes, but does not look at what was left when it starts. */
function forgetful(controller: { readonly prototype: { adopt(tenantId: never): void } }): () => void {
  return () => {
    vi.spyOn(controller.prototype, 'adopt').mockImplementation(() => undefined);
  };
}

const BUGS: readonly Bug[] = [
  {
    name: 'an agent that makes containers again after its restart',
    path: 'create',
    law: /one container|convergence/,
    parts: { planInstance: planForgetfully },
  },
  {
    name: 'a planner that knows attempts of jobs from memory only',
    path: 'job',
    law: /one attempt|convergence/,
    plant: () => {
      planted.attemptsFromMemory = true;
    },
  },
  {
    name: 'instances that nobody looks at after a start',
    path: 'create',
    law: /convergence/,
    plant: forgetful(InstancesController),
  },
  {
    name: 'jobs that nobody looks at after a start',
    path: 'job',
    law: /convergence/,
    plant: forgetful(JobsController),
  },
  {
    name: 'volumes that nobody looks at after a start',
    path: 'volume made and copied',
    law: /convergence/,
    plant: forgetful(VolumesController),
  },
  {
    name: 'draining nodes that nobody looks at after a start',
    path: 'drain and release',
    law: /convergence/,
    plant: forgetful(DrainController),
  },
  {
    name: 'kept specs that nobody looks at after a start',
    path: 'delete',
    law: /leak/,
    plant: forgetful(SpecSnapshotsController),
  },
];

describe('a planted bug is found by a crash', () => {
  it.each(BUGS)('$name', { timeout: 240_000 }, async ({ name, path, law, plant, parts }) => {
    plant?.();
    const found = RECONCILE_PATHS.find((one) => one.name === path);
    if (found === undefined) throw new Error(`no path ${path}`);
    const { points, failures } = await crashEverywhere(found, { ...SOUND, ...parts });
    console.log(`${name}: ${failures.length} of ${points} points; ${failures[0] ?? 'none'}`);
    expect(failures[0] ?? 'found by no point').toMatch(law);
  });
});
