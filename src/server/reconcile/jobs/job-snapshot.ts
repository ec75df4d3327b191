import type { Workload } from '../../../core/model/deployment.ts';
import type { InstanceId, JobOwner } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import type { JobRecord, StoredJobStatus } from '../../../core/model/job.ts';
import { runOf } from '../../../core/model/job-run.ts';
import { specOfSnapshot } from '../../../core/model/spec-snapshot.ts';
import { jobOwner } from '../../../core/model/owner.ts';
import { type CommandProgress, commandPlace } from '../../../core/plan/jobs/before-command.ts';
import type { JobPlanInput } from '../../../core/plan/jobs/job-plan.ts';
import { instanceStates, nodeCondition, observationsOf } from '../../placement/deployment-gates.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

/** Everything one decision is made from, with the revisions that its commit is guarded by. */
export interface JobSnapshot {
  readonly tenant: TenantStore;
  /** The job's key segment. */
  readonly id: string;
  readonly owner: JobOwner;
  readonly job: Stored<JobRecord> | undefined;
  readonly status: Stored<StoredJobStatus> | undefined;
  readonly instances: ReadonlyMap<InstanceId, Stored<InstanceRecord>>;
  readonly planned: Omit<
    JobPlanInput,
    'placer' | 'schedule' | 'memory' | 'nowMs' | 'wallMs' | 'times' | 'nextRunId'
  >;
}

/** The kept spec of a run that goes on. */
export function begunWith(tenant: TenantStore, owner: JobOwner, specHash: string): Workload | undefined {
  const kept = tenant.get('specs', idOf('specs', owner, specHash))?.record;
  return kept && specOfSnapshot(kept);
}

export function readJobSnapshot(
  tenant: TenantStore,
  id: string,
  command: CommandProgress | undefined,
): JobSnapshot {
  const [name] = segmentsOf('jobs', id);
  const owner = jobOwner(name);
  const job = tenant.get('jobs', id);
  const status = tenant.get('job-status', id);
  const orders = tenant.get('job-orders', id)?.record;
  const instances = tenant.collection('instances').listUnder(prefixOf('instances', owner));
  const captures = tenant.collection('job-captures');
  return {
    tenant,
    id,
    owner,
    job,
    status,
    instances: new Map(instances.map((stored) => [stored.record.id, stored])),
    planned: {
      name,
      ...(job && { job: job.record }),
      ...(status && { status: { ...status.record, runs: status.record.runs.map(runOf) } }),
      ...(orders && { orders }),
      ...(command && { command }),
      instances: instances.map(({ record }) => record),
      observationOf: observationsOf(tenant, prefixOf('observations', owner)),
      isCaptured: (instance) => captures.get(idOf('job-captures', owner, instance)) !== undefined,
      nodeOf: (node) => nodeCondition(tenant, node),
      specOf: (specHash) => begunWith(tenant, owner, specHash),
      commandPlace: (deployment) => commandPlace(deployment, instanceStates(tenant, deployment)?.states),
    },
  };
}
