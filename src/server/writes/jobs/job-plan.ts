import type { Workload } from '../../../core/model/deployment.ts';
import type { JobRecord } from '../../../core/model/job.ts';
import { pinOf } from '../../../core/model/spec-snapshot.ts';
import type { InstanceAction } from '../../../core/plan/rollout/instance-actions.ts';
import { type PlacementPlan, planPlacement } from '../../placement/explanation.ts';
import type { Stored } from '../../store/collection.ts';
import type { Admission, Caller } from '../admission.ts';
import { planId } from '../plan-guard.ts';

export interface JobPlan extends PlacementPlan {
  readonly id: string;
  readonly actions: readonly InstanceAction[];
}

/** One that is created without a schedule runs at once; a change runs nothing, and a run under way goes on as it was begun. */
export function planJob(
  { clusters }: Admission,
  { tenant }: Caller,
  previous: Stored<JobRecord> | undefined,
  record: JobRecord,
  workload: Workload,
): JobPlan {
  const placement = clusters.supposedIn(tenant, () =>
    planPlacement(clusters, tenant, workload, record.specHash),
  );
  const { name, schedule } = record.spec;
  const [chosen] = placement.instances;
  const actions: readonly InstanceAction[] =
    previous === undefined && schedule === undefined
      ? [{ action: 'create', ...(chosen && { to: chosen.node }), why: 'it runs once, at once' }]
      : [];
  const plan = { ...placement, actions };
  const id = planId(tenant, {
    record: { kind: 'Job', name, revision: previous?.modRevision },
    document: { ...record.spec, ...pinOf(record.imageDigest) },
    plan,
  });
  return { ...plan, id };
}
