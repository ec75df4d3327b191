import type { TenantId } from '../../core/model/ids.ts';
import { jobOfOwner, jobOwner } from '../../core/model/job.ts';
import { leadingId } from '../store/keys.ts';
import { idOf, prefixOf, segmentsOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import type { ViewChange } from '../store/view.ts';
import { type Controller, type ControllerDeps, ownedTenants } from './controller.ts';
import { KeyedQueue } from './queue.ts';

/** Snapshots that nothing needs are removed so long after the last change: an update in quick steps makes one look. */
const REST_MS = 5_000;
const REMOVED_PER_COMMIT = 50;

/**
 * Removes kept specs that no instance runs, that are not the current one, and that no rollback may return to. The commit is guarded by
 * the records that could make a snapshot needed again.
 */
export class SpecSnapshotsController implements Controller {
  readonly name = 'spec-snapshots';
  readonly #deps: ControllerDeps;
  readonly #queue: KeyedQueue;
  #unsubscribe: (() => void) | undefined;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue(
      {
        work: (key) => this.#clean(key),
        onFault: (key, fault) => deps.log('old specs could not be removed', { key, fault: String(fault) }),
        timers: deps.timers,
        concurrency: 4,
      },
      () => deps.clock.monotonicMs(),
    );
  }

  start(): void {
    this.#unsubscribe = this.#deps.store.view.onChange((change) => this.#take(change));
    for (const tenantId of ownedTenants(this.#deps)) this.adopt(tenantId);
  }

  adopt(tenantId: TenantId): void {
    const deployments = new Set(this.#deps.store.view.tenant(tenantId, 'specs').ids().map(leadingId));
    for (const id of deployments) this.#queue.addAfter(`${tenantId}/${id}`, REST_MS);
  }

  /** Nothing is remembered but what waits, and that is passed over. */
  abandon(): void {}

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#queue.stop();
  }

  status(): Record<string, unknown> {
    return { queue: this.#queue.depth };
  }

  #take({ tenantId, kind, id, before, after }: ViewChange): void {
    if (tenantId === undefined || !this.#deps.owns(tenantId)) return;
    const mayFree =
      (kind === 'instances' && after === undefined) ||
      (kind === 'rollouts' && before !== undefined) ||
      (kind === 'canaries' && after === undefined) ||
      (kind === 'deployments' && before !== undefined);
    if (kind === 'jobs' && before !== undefined)
      this.#queue.addAfter(`${tenantId}/${prefixOf('specs', jobOwner(segmentsOf('jobs', id)[0]))}`, REST_MS);
    if (mayFree) this.#queue.addAfter(`${tenantId}/${leadingId(id)}`, REST_MS);
  }

  async #clean(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const tenantId = key.slice(0, slash) as TenantId;
    if (!this.#deps.owns(tenantId)) return;
    const tenant = this.#deps.store.forTenant(tenantId);
    const id = key.slice(slash + 1);
    const unused = unusedSnapshots(tenant, id);
    if (unused.length === 0) return;
    const transaction = tenant
      .transaction()
      .expect('deployments', id, tenant.get('deployments', id))
      .expect('rollouts', id, tenant.get('rollouts', id))
      .expect('canaries', id, tenant.get('canaries', id));
    const job = jobIdOf(id);
    if (job !== undefined) transaction.expect('jobs', job, tenant.get('jobs', job));
    for (const snapshot of unused.slice(0, REMOVED_PER_COMMIT)) transaction.delete('specs', snapshot);
    const result = await tenant.commit(transaction);
    if (!result.ok || unused.length > REMOVED_PER_COMMIT) this.#queue.addAfter(key, REST_MS);
  }
}

function unusedSnapshots(tenant: TenantStore, id: string): readonly string[] {
  const rollout = tenant.get('rollouts', id)?.record;
  const job = jobIdOf(id);
  const needed = new Set([
    tenant.get('deployments', id)?.record.specHash,
    rollout?.specHash,
    rollout?.from?.specHash,
    job === undefined ? undefined : tenant.get('jobs', job)?.record.specHash,
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
  const name = jobOfOwner(segmentsOf('deployments', owner)[0]);
  return name === undefined ? undefined : idOf('jobs', name);
}
