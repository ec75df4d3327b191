import type { JobOrders, JobRecord } from '../../../core/model/job.ts';
import { jobOwner } from '../../../core/model/owner.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { JOBS } from '../../../core/operations/jobs.ts';
import { actorName } from '../../journal/journal.ts';
import { claimVolumes } from '../../placement/volume-claims.ts';
import type { Stored } from '../../store/collection.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  acceptedOf,
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
} from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { findJob, jobNotFound, runUnderWay, storedJobView } from '../../reads/job.ts';
import { missingHooks } from './job-stored.ts';

const accepted = acceptedOf<typeof JOBS.run>();
const ANNOUNCED = { alterations: [], warnings: [], removed: [] } as const;

interface Order {
  readonly action: 'run_requested' | 'cancel_requested';
  readonly message: string;
  readonly runId: string;
  readonly change: Partial<JobOrders>;
}

/** Guarded by the status, so that what was true of the run is true when the order is stored. */
export function includeOrder(
  admission: Admission,
  { tenant, ...actor }: Caller,
  stored: Stored<JobRecord>,
  transaction: Transaction,
  { action, message, runId, change }: Order,
): void {
  const { id } = stored;
  const orders = tenant.get('job-orders', id);
  const subject = { kind: 'Job', name: stored.record.spec.name } as const;
  transaction
    .expect('jobs', id, stored)
    .expect('job-status', id, tenant.get('job-status', id))
    .expect('job-orders', id, orders)
    .put('job-orders', id, { ...orders?.record, ...change });
  admission.journal.event(transaction, tenant.tenantId, {
    kind: `job.${action}`,
    subject,
    message,
    details: { run: runId },
  });
  admission.journal.audit(transaction, tenant.tenantId, actor, `job.${action}`, subject);
}

function orderAttempt(
  admission: Admission,
  caller: Caller,
  stored: Stored<JobRecord>,
  order: Order,
): Attempt<typeof JOBS.run> {
  const transaction = caller.tenant.transaction();
  includeOrder(admission, caller, stored, transaction, order);
  const body = { ...storedJobView(admission, caller.tenant, stored), run: order.runId, ...ANNOUNCED };
  return { answer: accepted(200, body), transaction };
}

/** One run of a job at a time: a second one is refused, not queued. */
export function runJob(
  admission: Admission,
  caller: Caller,
  name: string,
): Promise<Outcome<typeof JOBS.run>> {
  return commitAttempts(admission, caller, () => {
    const stored = findJob(caller.tenant, name);
    if (stored === undefined) return jobNotFound(name);
    const active = runUnderWay(caller.tenant, stored);
    if (active !== undefined) {
      return reject('job_already_running', {
        field: 'name',
        received: received(name),
        why: `Run ${active} of this job is under way; a job has one run at a time.`,
      });
    }
    const runId = admission.ids.next('run');
    const at = admission.clock.now().toISOString();
    return orderAttempt(admission, caller, stored, {
      action: 'run_requested',
      message: `${name}: run ${runId} was asked for`,
      runId,
      change: { run: { runId, trigger: 'manual', at, by: actorName(caller) } },
    });
  });
}

export function cancelJob(
  admission: Admission,
  caller: Caller,
  name: string,
): Promise<Outcome<typeof JOBS.run>> {
  return commitAttempts(admission, caller, () => {
    const stored = findJob(caller.tenant, name);
    if (stored === undefined) return jobNotFound(name);
    const runId = runUnderWay(caller.tenant, stored);
    if (runId === undefined) {
      return reject('job_not_running', {
        field: 'name',
        received: received(name),
        why: 'No run of this job is under way.',
      });
    }
    return orderAttempt(admission, caller, stored, {
      action: 'cancel_requested',
      message: `${name}: the end of run ${runId} was asked for`,
      runId,
      change: { cancel: { runId, at: admission.clock.now().toISOString(), by: actorName(caller) } },
    });
  });
}

/** The job goes, and with it its runs and their logs; a container that runs is stopped by the controller. */
export function deleteJob(
  admission: Admission,
  caller: Caller,
  name: string,
  ifMatch: IfMatch | undefined,
): Promise<Outcome<typeof JOBS.remove>> {
  return commitAttempts(admission, caller, () => {
    const stored = findJob(caller.tenant, name);
    if (stored === undefined) return jobNotFound(name);
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { tenant } = caller;
    const subject = { kind: 'Job', name } as const;
    const transaction = tenant
      .transaction()
      .expect('jobs', stored.id, stored)
      .delete('jobs', stored.id)
      .delete('job-orders', stored.id);
    claimVolumes(tenant, jobOwner(name), { before: stored.record.spec, after: undefined }, transaction);
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'job.deleted',
      subject,
      message: `${name} deleted, with its runs and their logs`,
    });
    admission.journal.audit(transaction, tenant.tenantId, caller, 'job.deleted', subject);
    const warnings = missingHooks(tenant, name);
    const body = { ...storedJobView(admission, tenant, stored), ...ANNOUNCED, warnings };
    return { answer: accepted(200, body), transaction };
  });
}
