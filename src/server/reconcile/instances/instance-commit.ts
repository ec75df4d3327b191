import { canonicalJson } from '../../../core/model/canonical.ts';
import type { StoredStatus } from '../../../core/model/rollout.ts';
import { newCanaryInstance, newInstance } from '../../../core/plan/rollout/fresh-instance.ts';
import { restartedRecord } from '../../../core/plan/rollout/health-restart.ts';
import type { InstancePlan, RemovalPlan, WantedPlan } from '../../../core/plan/rollout/instances.ts';
import { timeText } from '../../clock.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import { expectRollout, isPartOfStatus } from '../../store/rollout-row.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { type ControllerDeps, SYSTEM } from '../controller.ts';
import type { DeploymentSnapshot } from './deployment-snapshot.ts';
import { addRollback } from './rollback.ts';

/** The plan as one guarded commit; undefined when it changes nothing. */
export function planTransaction(
  deps: ControllerDeps,
  snapshot: DeploymentSnapshot,
  plan: InstancePlan,
): Transaction | undefined {
  const { tenant, id } = snapshot;
  const transaction = tenant
    .transaction()
    .expect('deployments', id, snapshot.deployment)
    .expect('canaries', id, snapshot.canary);
  expectRollout(transaction, id, snapshot);
  addPlan(deps, snapshot, plan, transaction);
  const { puts = [], deletes = [] } = transaction.toCommit();
  return puts.length + deletes.length > 0 ? transaction : undefined;
}

/** What the plan changes; its guards are the caller's. */
export function addPlan(
  deps: ControllerDeps,
  snapshot: DeploymentSnapshot,
  plan: InstancePlan,
  transaction: Transaction,
): void {
  addInstances(deps, snapshot, plan, transaction);
  if (plan.deployment === undefined) addRemoval(snapshot, plan, transaction);
  else addWanted(deps, snapshot, plan, transaction);
  for (const event of plan.events) deps.journal.event(transaction, snapshot.tenant.tenantId, event);
}

function addInstances(
  deps: ControllerDeps,
  { tenant, id, instances }: DeploymentSnapshot,
  plan: InstancePlan,
  transaction: Transaction,
): void {
  for (const { canary: _own, ...record } of plan.adopt ?? []) {
    const key = `${id}/${record.id}`;
    transaction.expect('instances', key, instances.get(record.id)).put('instances', key, record);
  }
  for (const record of plan.stop) {
    const key = `${id}/${record.id}`;
    transaction
      .expect('instances', key, instances.get(record.id))
      .put('instances', key, { ...record, wanted: 'stop' });
  }
  for (const record of plan.remove) {
    const key = `${id}/${record.id}`;
    transaction
      .expect('instances', key, instances.get(record.id))
      .delete('instances', key)
      .delete('observations', key);
    if (tenant.get('secret-deliveries', key) !== undefined) transaction.delete('secret-deliveries', key);
  }
  if (plan.deployment === undefined) return;
  const { deployment, canary, restart } = plan;
  for (const record of plan.ordered) {
    const key = `${id}/${record.id}`;
    transaction.expect('instances', key, instances.get(record.id)).put('instances', key, record);
  }
  if (restart !== undefined) {
    const record = restartedRecord(restart);
    const key = `${id}/${record.id}`;
    transaction.expect('instances', key, instances.get(record.id)).put('instances', key, record);
  }
  const besides = canary?.create ?? [];
  if (plan.create.length + besides.length === 0) return;
  const createdAt = timeText(deps.clock);
  for (const placed of plan.create) {
    transaction.put('instances', `${id}/${placed.id}`, newInstance(placed, deployment, createdAt));
  }
  if (canary === undefined) return;
  for (const placed of besides) {
    const record = newCanaryInstance(placed, deployment, canary.record, createdAt);
    transaction.put('instances', `${id}/${placed.id}`, record);
  }
}

function addWanted(
  deps: ControllerDeps,
  snapshot: DeploymentSnapshot,
  plan: WantedPlan,
  transaction: Transaction,
): void {
  const { id, status, rollout } = snapshot;
  const isNew = rollout === undefined || canonicalJson(rollout.record) !== canonicalJson(plan.rollout);
  const isFirst = rollout === undefined && status === undefined;
  // A control plane of a format that does not know it may read the store as well.
  const isPart = isFirst ? transaction.derivesRows : rollout && isPartOfStatus(rollout) && !isNew;
  const isRolledBack = addRollback(deps, snapshot, plan, transaction);
  addStatus(
    deps,
    snapshot,
    { ...plan.status, ...(isPart && !isRolledBack && { rollout: plan.rollout }) },
    transaction,
  );
  if (isNew && !isPart && !isRolledBack) transaction.put('rollouts', id, plan.rollout);
  if (plan.canary?.abort !== undefined) addAbort(deps, snapshot, transaction);
}

/** Its event is among those of the plan. */
function addAbort(deps: ControllerDeps, { tenant, id }: DeploymentSnapshot, transaction: Transaction): void {
  transaction.delete('canaries', id);
  deps.journal.audit(transaction, tenant.tenantId, SYSTEM, 'deployment.canary-aborted', {
    kind: 'Deployment',
    name: segmentsOf('deployments', id)[0],
  });
}

/** Written only when it says something new. */
function addStatus(
  deps: ControllerDeps,
  { id, status }: DeploymentSnapshot,
  planned: Omit<StoredStatus, 'since'>,
  transaction: Transaction,
): void {
  const samePhase = status?.record.phase === planned.phase;
  const since = (samePhase ? status.record.since : undefined) ?? timeText(deps.clock);
  const next: StoredStatus = { ...planned, since };
  if (status === undefined || canonicalJson(status.record) !== canonicalJson(next)) {
    transaction.put('deployment-status', id, next);
  }
}

function addRemoval(
  { tenant, id, status, rollout, instances }: DeploymentSnapshot,
  plan: RemovalPlan,
  transaction: Transaction,
): void {
  if (status !== undefined) transaction.delete('deployment-status', id);
  const isLast = instances.size === plan.remove.length;
  if (isLast) removeFailures(tenant, id, transaction);
  if (rollout === undefined) return;
  // While containers are being stopped the row stays, so that of two who stop them the later looks again; where there was none, the instances say so.
  if (isLast) transaction.delete('rollouts', id);
  else if (plan.stop.length + plan.remove.length > 0)
    transaction.put('rollouts', id, { ...rollout.record, generation: rollout.record.generation + 1 });
}

/** None is added to a deployment that is gone. */
function removeFailures(tenant: TenantStore, id: string, transaction: Transaction): void {
  const stored = tenant.get('failures', id);
  if (stored === undefined) return;
  const [name] = segmentsOf('failures', id);
  transaction.expect('failures', id, stored).delete('failures', id);
  for (const { instance, key } of stored.record.kept)
    transaction.deleteCold('failure-logs', idOf('failure-logs', name, instance, key));
}
