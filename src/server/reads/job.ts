import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import { jobView } from '../../core/contract/job-view.ts';
import type { JobRecord } from '../../core/model/job.ts';
import { activeRun } from '../../core/model/job-run.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Stored } from '../store/collection.ts';
import { containerDefaultsOf } from '../store/container-defaults.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

export function findJob(tenant: TenantStore, name: string): Stored<JobRecord> | undefined {
  return tenant.get('jobs', idOf('jobs', name));
}

export function storedJobView(
  { containerDefaults }: { readonly containerDefaults: ContainerDefaults },
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

/** Taken up or not: what was ordered and not reconciled yet is under way too. */
export function runUnderWay(tenant: TenantStore, { id, record }: Stored<JobRecord>): string | undefined {
  const status = tenant.get('job-status', id)?.record;
  const ordered = tenant.get('job-orders', id)?.record.run?.runId;
  const active = status?.jobId === record.id ? activeRun(status)?.id : undefined;
  return active ?? (ordered === status?.takenRun ? undefined : ordered);
}
