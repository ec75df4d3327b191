import type { TenantId } from '../../../core/model/ids.ts';
import { activeRun } from '../../../core/model/job-run.ts';
import { jobOwner, ownerOf } from '../../../core/model/owner.ts';
import { isDerivedSnapshot } from '../../store/deployment-rows.ts';
import { leadingId } from '../../store/keys.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import { expectRollout, rolloutOf } from '../../store/rollout-row.ts';
import type { TenantStore } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { type ReconcileRequest, Reconciler } from '../reconciler.ts';

/** Unused snapshots are removed this long after the last change: an update in quick steps causes one reconcile. */
const REST_MS = 5_000;
const REMOVED_PER_COMMIT = 50;

/**
 * Removes kept specs that no instance runs, that are not the current one, and that no rollback may return to. The commit is guarded by
 * the records that could make a snapshot needed again.
 */
export class SpecSnapshotsController extends Reconciler {
  constructor(deps: ControllerDeps) {
    super(deps, { name: 'spec-snapshots', problem: 'old specs could not be removed', concurrency: 4 });
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.deps.store;
    const deployments = view.tenant(tenantId, 'deployments');
    // Of most deployments the current one is all there is: at a start none of them waits for its turn.
    for (const snapshot of view.tenant(tenantId, 'specs').values()) {
      if (isDerivedSnapshot(snapshot)) continue;
      const owner = leadingId(snapshot.id);
      if (deployments.get(owner)?.record.specHash !== snapshot.id.slice(owner.length + 1))
        this.add(tenantId, owner, REST_MS);
    }
  }

  override status(): Record<string, unknown> {
    return { queue: this.depth };
  }

  protected take({ tenantId, kind, id, before, after }: ViewChange): void {
    if (tenantId === undefined) return;
    const mayFree =
      (kind === 'instances' && after === undefined) ||
      (kind === 'rollouts' && before !== undefined) ||
      (kind === 'deployment-status' &&
        before?.record.rollout !== undefined &&
        after?.record.rollout === undefined) ||
      (kind === 'canaries' && after === undefined) ||
      (kind === 'deployments' && before !== undefined);
    const runEnded =
      kind === 'job-status' &&
      activeRun(before?.record) !== undefined &&
      activeRun(after?.record) === undefined;
    if ((kind === 'jobs' && before !== undefined) || runEnded)
      this.add(tenantId, prefixOf('specs', jobOwner(segmentsOf(kind, id)[0])), REST_MS);
    if (mayFree) this.add(tenantId, leadingId(id), REST_MS);
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const { tenantId, id } = request;
    const tenant = this.deps.store.forTenant(tenantId);
    const unused = unusedSnapshots(tenant, id);
    if (unused.length === 0) return;
    const transaction = tenant
      .transaction()
      .expect('deployments', id, tenant.get('deployments', id))
      .expect('canaries', id, tenant.get('canaries', id));
    expectRollout(transaction, id, {
      rollout: rolloutOf(tenant, id),
      status: tenant.get('deployment-status', id),
    });
    const job = jobIdOf(id);
    if (job !== undefined)
      transaction
        .expect('jobs', job, tenant.get('jobs', job))
        .expect('job-status', job, tenant.get('job-status', job));
    for (const snapshot of unused.slice(0, REMOVED_PER_COMMIT)) transaction.delete('specs', snapshot);
    const isStored = await this.commit(tenant, transaction);
    if (!isStored || unused.length > REMOVED_PER_COMMIT) this.again(request, REST_MS);
  }
}

function unusedSnapshots(tenant: TenantStore, id: string): readonly string[] {
  const rollout = rolloutOf(tenant, id)?.record;
  const job = jobIdOf(id);
  const needed = new Set([
    tenant.get('deployments', id)?.record.specHash,
    rollout?.specHash,
    rollout?.from?.specHash,
    job === undefined ? undefined : tenant.get('jobs', job)?.record.specHash,
    // Of a run between two attempts there is no instance.
    job === undefined ? undefined : activeRun(tenant.get('job-status', job)?.record)?.terms?.specHash,
    tenant.get('canaries', id)?.record.specHash,
    ...tenant
      .collection('instances')
      .listUnder(id)
      .map(({ record }) => record.specHash),
  ]);
  return tenant
    .collection('specs')
    .listUnder(id)
    .map((stored) => stored.id)
    .filter((snapshot) => !needed.has(snapshot.slice(id.length + 1)));
}

/** The key segment of the job whose containers stand under this one; undefined: a deployment. */
function jobIdOf(owner: string): string | undefined {
  const { kind, name } = ownerOf(segmentsOf('specs', owner)[0]);
  return kind === 'job' ? idOf('jobs', name) : undefined;
}
