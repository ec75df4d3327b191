import { canonicalJson } from '../../../core/model/canonical.ts';
import { jobLogSegments } from '../../../core/model/job.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { toldCommand } from '../../../core/rules/credentials/told-command.ts';
import type { JobPlan } from '../../../core/plan/jobs/job-plan.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { type ControllerDeps, SYSTEM } from '../controller.ts';
import type { JobSnapshot } from './job-snapshot.ts';

/**
 * The plan as one guarded commit; undefined when it changes nothing. An attempt is made in the commit that counts it in the status,
 * and every commit expects the status as it was read: two decisions from the same state cannot both be stored.
 */
export function jobTransaction(
  deps: ControllerDeps,
  snapshot: JobSnapshot,
  plan: JobPlan,
): Transaction | undefined {
  const { tenant, id, job, status } = snapshot;
  const transaction = tenant.transaction().expect('jobs', id, job).expect('job-status', id, status);
  addInstances(deps, snapshot, plan, transaction);
  for (const run of plan.forget) {
    for (let attempt = 1; attempt <= run.attempts; attempt += 1)
      transaction.deleteCold(
        'job-logs',
        idOf('job-logs', ...jobLogSegments(segmentsOf('jobs', id)[0], run.id, attempt)),
      );
  }
  if (plan.status === undefined) {
    if (status !== undefined) transaction.delete('job-status', id);
  } else if (status === undefined || canonicalJson(status.record) !== canonicalJson(plan.status)) {
    transaction.put('job-status', id, plan.status);
  }
  auditCommand(deps, snapshot, plan, transaction);
  for (const event of plan.events) deps.journal.event(transaction, tenant.tenantId, event);
  const { puts = [], deletes = [] } = transaction.toCommit();
  return puts.length + deletes.length > 0 ? transaction : undefined;
}

/** As that of a person: before it is run, and not again while it is under way. */
function auditCommand(
  deps: ControllerDeps,
  { tenant, id, planned }: JobSnapshot,
  { command }: JobPlan,
  transaction: Transaction,
): void {
  if (command === undefined || planned.command?.planned === command) return;
  const { deployment, instanceId, runId } = command;
  const subject = { kind: 'Instance', name: instanceId } as const;
  deps.journal.audit(transaction, tenant.tenantId, SYSTEM, 'deployment.exec', subject, {
    deployment,
    job: segmentsOf('jobs', id)[0],
    run: runId,
    command: toldCommand(command.command),
  });
}

function addInstances(
  deps: ControllerDeps,
  { instances, owner, job, tenant }: JobSnapshot,
  plan: JobPlan,
  transaction: Transaction,
): void {
  const put = (record: InstanceRecord, next: InstanceRecord): void => {
    const key = idOf('instances', owner, record.id);
    transaction.expect('instances', key, instances.get(record.id)).put('instances', key, next);
  };
  for (const record of plan.end)
    if (record.once !== undefined) put(record, { ...record, once: { ...record.once, end: true } });
  for (const record of plan.stop) put(record, { ...record, wanted: 'stop' });
  for (const record of plan.remove) {
    const key = idOf('instances', owner, record.id);
    transaction
      .expect('instances', key, instances.get(record.id))
      .delete('instances', key)
      .delete('observations', key)
      .delete('secret-deliveries', key)
      .delete('job-captures', key);
  }
  if (plan.create === undefined || job === undefined) return;
  const { id, nodeId, once, specHash } = plan.create;
  transaction.put('instances', idOf('instances', owner, id), {
    id,
    tenantId: tenant.tenantId,
    deployment: owner,
    specHash,
    secretsVersion: 0,
    nodeId,
    wanted: 'run',
    createdAt: deps.clock.now().toISOString(),
    attempt: 0,
    once,
  });
}
