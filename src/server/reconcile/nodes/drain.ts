import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { isDead } from '../../placement/drain-report.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { type ReconcileRequest, Reconciler, KeyedState } from '../reconciler.ts';

/**
 * Publishes `node.drained` when a draining node is empty. The instances controller moves the instances.
 */
export class DrainController extends Reconciler {
  /** Draining nodes that are not empty yet, or whose `node.drained` is not published yet. */
  readonly #draining = new KeyedState<NodeName>();

  constructor(deps: ControllerDeps) {
    super(deps, { name: 'drain', problem: 'the node.drained event could not be recorded; retrying' });
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.deps.store;
    const published = view.tenant(tenantId, 'node-drains');
    for (const { id, record } of view.tenant(tenantId, 'nodes').list())
      if (record.draining === true && published.get(id) === undefined) this.#watch(tenantId, record.name);
  }

  protected override forget(tenantId?: TenantId): void {
    this.#draining.forget(tenantId);
  }

  override status(): Record<string, unknown> {
    return { draining: this.#draining.size };
  }

  protected take({ tenantId, kind, id, before, after }: ViewChange): void {
    if (kind === 'nodes') {
      const isDraining = after?.record.draining === true;
      if (isDraining && before?.record.draining !== true) this.#watch(tenantId, after.record.name);
      if (!isDraining) this.#draining.delete(this.keyOf(tenantId, id));
    } else if (kind === 'instances' && before !== undefined && after?.record.wanted !== 'run') {
      this.#look(tenantId, before.record.nodeId);
    } else if (kind === 'node-liveness' && after?.record.lost === true) {
      this.#look(tenantId, segmentsOf(kind, id)[0]);
    }
  }

  #look(tenantId: TenantId, node: NodeName): void {
    const id = idOf('nodes', node);
    if (this.#draining.has(this.keyOf(tenantId, id))) this.add(tenantId, id);
  }

  #watch(tenantId: TenantId, node: NodeName): void {
    if (!this.deps.owns(tenantId)) return;
    const id = idOf('nodes', node);
    this.#draining.set(this.keyOf(tenantId, id), node);
    this.add(tenantId, id);
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const { key, tenantId, id } = request;
    const tenant = this.deps.store.forTenant(tenantId);
    const node = tenant.get('nodes', id);
    const name = this.#draining.get(key);
    if (name === undefined || node?.record.draining !== true) return;
    if (this.deps.clusters.instancesOn(tenantId, name).some((record) => !isDead(tenant, record))) return;
    // In one commit: if this process dies right after the last instance left, the next one publishes the event.
    const transaction = tenant
      .transaction()
      .expect('nodes', id, node)
      .put('node-drains', id, { toldAt: this.deps.clock.now().toISOString() });
    this.deps.journal.event(transaction, tenantId, {
      kind: 'node.drained',
      subject: { kind: 'Node', name },
      message: `node ${name} is drained: no instance is left on it`,
    });
    if (await this.commit(tenant, transaction)) this.#draining.delete(key);
    else this.again(request);
  }
}
