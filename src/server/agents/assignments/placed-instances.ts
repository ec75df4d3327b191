import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import type { Stored } from '../../store/collection.ts';
import type { StoreView, ViewChange } from '../../store/view.ts';

type ByInstance = Map<string, Stored<InstanceRecord>>;

export function nodeKey(tenantId: TenantId, node: string): string {
  return `${tenantId}/${node}`;
}

/** Which instances are placed on which node: kept from the view's changes, so that no question walks a whole tenant. */
export class PlacedInstances {
  readonly #byNode = new Map<string, ByInstance>();

  constructor(view: StoreView) {
    for (const tenantId of view.tenantIdsWith('instances')) {
      for (const stored of view.tenant(tenantId, 'instances').list()) this.#add(tenantId, stored);
    }
    view.onChange((change) => this.#apply(change));
  }

  #apply({ tenantId, kind, before, after }: ViewChange): void {
    if (tenantId === undefined || kind !== 'instances') return;
    if (before !== undefined) this.#remove(tenantId, before);
    if (after !== undefined) this.#add(tenantId, after);
  }

  #add(tenantId: TenantId, stored: Stored<InstanceRecord>): void {
    const key = nodeKey(tenantId, stored.record.nodeId);
    let placed = this.#byNode.get(key);
    if (placed === undefined) {
      placed = new Map();
      this.#byNode.set(key, placed);
    }
    placed.set(stored.record.id, stored);
  }

  #remove(tenantId: TenantId, { record }: Stored<InstanceRecord>): void {
    const key = nodeKey(tenantId, record.nodeId);
    const placed = this.#byNode.get(key);
    placed?.delete(record.id);
    if (placed?.size === 0) this.#byNode.delete(key);
  }

  on(tenantId: TenantId, node: string): readonly Stored<InstanceRecord>[] {
    return [...(this.#byNode.get(nodeKey(tenantId, node))?.values() ?? [])];
  }

  /** Only if it is on that very node of that very tenant. */
  find(tenantId: TenantId, node: string, instanceId: string): Stored<InstanceRecord> | undefined {
    return this.#byNode.get(nodeKey(tenantId, node))?.get(instanceId);
  }
}
