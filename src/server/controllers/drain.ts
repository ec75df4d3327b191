import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { idOf, segmentsOf } from '../store/record-ids.ts';
import type { ViewChange } from '../store/view.ts';
import { type Controller, type ControllerDeps, ownedTenants } from './controller.ts';
import { KeyedQueue } from './queue.ts';

/**
 * Tells when a draining node is empty. Moving the instances is the work of the instances controller, for which a draining node is one
 * that its instances are to leave.
 */
export class DrainController implements Controller {
  readonly name = 'drain';
  readonly #deps: ControllerDeps;
  readonly #queue: KeyedQueue;
  /** Draining nodes that are not empty yet, or whose emptiness is not told yet. */
  readonly #draining = new Set<string>();
  #unsubscribe: (() => void) | undefined;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue(
      {
        work: (key) => this.#look(key),
        onFault: (key, fault) =>
          deps.log('a drained node could not be told of', { key, fault: String(fault) }),
        timers: deps.timers,
      },
      () => deps.clock.monotonicMs(),
    );
  }

  start(): void {
    this.#unsubscribe = this.#deps.store.view.onChange((change) => this.#take(change));
    for (const tenantId of ownedTenants(this.#deps)) this.adopt(tenantId);
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.#deps.store;
    const told = view.tenant(tenantId, 'node-drains');
    for (const { id, record } of view.tenant(tenantId, 'nodes').list())
      if (record.draining === true && told.get(id) === undefined) this.#watch(tenantId, record.name);
  }

  abandon(tenantId: TenantId): void {
    for (const key of this.#draining) if (key.startsWith(`${tenantId}/`)) this.#draining.delete(key);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#queue.stop();
    this.#draining.clear();
  }

  status(): Record<string, unknown> {
    return { draining: this.#draining.size };
  }

  #take({ tenantId, kind, id, before, after }: ViewChange): void {
    if (tenantId === undefined) return;
    if (kind === 'nodes') {
      const [node] = segmentsOf(kind, id);
      const isDraining = after?.record.draining === true;
      if (isDraining && before?.record.draining !== true) this.#watch(tenantId, node);
      if (!isDraining) this.#draining.delete(`${tenantId}/${node}`);
    } else if (kind === 'instances' && before !== undefined && after === undefined) {
      const key = `${tenantId}/${before.record.nodeId}`;
      if (this.#draining.has(key)) this.#queue.add(key);
    }
  }

  #watch(tenantId: TenantId, node: NodeName): void {
    if (!this.#deps.owns(tenantId)) return;
    this.#draining.add(`${tenantId}/${node}`);
    this.#queue.add(`${tenantId}/${node}`);
  }

  async #look(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const tenantId = key.slice(0, slash) as TenantId;
    const name = key.slice(slash + 1) as NodeName;
    const tenant = this.#deps.store.forTenant(tenantId);
    const node = tenant.get('nodes', idOf('nodes', name));
    if (!this.#draining.has(key) || node?.record.draining !== true) return;
    if (this.#deps.clusters.instancesOn(tenantId, name).length > 0) return;
    // In one commit: a process that dies right after the last instance went leaves the telling to the next one.
    const transaction = tenant
      .transaction()
      .expect('nodes', node.id, node)
      .put('node-drains', node.id, { toldAt: this.#deps.clock.now().toISOString() });
    this.#deps.journal.event(transaction, tenantId, {
      kind: 'node.drained',
      subject: { kind: 'Node', name },
      message: `node ${name} is drained: no instance is left on it`,
    });
    const result = await tenant.commit(transaction);
    if (result.ok) this.#draining.delete(key);
    else this.#queue.add(key);
  }
}
