import { jobView } from '../../core/contract/job-view.ts';
import { activeRun, jobOwner, type JobRecord } from '../../core/model/job.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { JobFacts } from '../../core/rules/job.ts';
import type { Stored } from '../store/collection.ts';
import { containerDefaultsOf } from '../store/container-defaults.ts';
import { idOf, segmentsOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { Admission, Caller } from './admission.ts';
import { deploymentFacts } from './deployment-stored.ts';

export function findJob(tenant: TenantStore, name: string): Stored<JobRecord> | undefined {
  return tenant.get('jobs', idOf('jobs', name));
}

export function storedJobView(
  { containerDefaults }: Pick<Admission, 'containerDefaults'>,
  tenant: TenantStore,
  stored: Stored<JobRecord>,
  shownRuns?: number,
): ReturnType<typeof jobView> {
  const status = tenant.get('job-status', stored.id)?.record;
  const defaults = containerDefaultsOf(tenant, containerDefaults);
  return jobView(stored.record, stored.modRevision, status, defaults, shownRuns);
}

export function jobNotFound(name: string): Rejection {
  return reject('job_not_found', {
    field: 'name',
    received: received(name),
    why: 'The tenant has no job of this name.',
  });
}

export function jobFacts(admission: Pick<Admission, 'clusters'>, caller: Caller, name: string): JobFacts {
  const { tenant } = caller;
  return {
    ...deploymentFacts(admission, caller, jobOwner(name)),
    reachable: () =>
      tenant
        .list('nodes')
        .filter(({ id }) => tenant.get('node-liveness', id)?.record.status === 'ready')
        .map(({ record }) => record.name),
  };
}

/** Taken up or not: what was ordered and not looked at yet is under way too. */
export function runUnderWay(tenant: TenantStore, { id, record }: Stored<JobRecord>): string | undefined {
  const status = tenant.get('job-status', id)?.record;
  const ordered = tenant.get('job-orders', id)?.record.run?.runId;
  const active = status?.jobId === record.id ? activeRun(status)?.id : undefined;
  return active ?? (ordered === status?.takenRun ? undefined : ordered);
}

export function readsCredential({ spec }: JobRecord, path: string): boolean {
  return spec.secrets.some(({ vault_path }) => vault_path === path);
}

/** Credentials whose rotation runs the job. */
export function hookedCredentials(tenant: TenantStore, job: string): readonly string[] {
  return tenant
    .list('credentials')
    .filter(({ record: { hooks } }) => hooks?.apply === job || hooks?.revoke === job)
    .map(({ id }) => segmentsOf('credentials', id).join('/'));
}
