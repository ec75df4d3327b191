import type { AssignedVolume } from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { isKeptByNode, isLeased, type VolumeRecord } from '../../../core/model/volume.ts';
import type { Stored } from '../../store/collection.ts';
import type { StoreView, ViewChange } from '../../store/view.ts';
import { nodeKey } from './placed-instances.ts';

type ByVolume = Map<string, Stored<VolumeRecord>>;

/** Every node that has something to do with the volume. */
export function nodesOf({ primaryNodeId, replicas, leaving }: VolumeRecord): readonly string[] {
  const primary = primaryNodeId === undefined ? [] : [primaryNodeId];
  return [...new Set([...primary, ...replicas.map(({ nodeId }) => nodeId), ...leaving])];
}

function roleOf(record: VolumeRecord, node: string): AssignedVolume['role'] | undefined {
  if (record.phase === 'Deleting') return record.leaving.some((name) => name === node) ? 'gone' : undefined;
  if (record.primaryNodeId === node) return 'primary';
  if (record.replicas.some(({ nodeId }) => nodeId === node)) return 'replica';
  return record.leaving.some((name) => name === node) ? 'gone' : undefined;
}

/** What the node keeps of the volume; undefined: nothing. */
export function assignedVolume(record: VolumeRecord, node: string): AssignedVolume | undefined {
  const role = isKeptByNode(record) ? roleOf(record, node) : undefined;
  if (role === undefined) return undefined;
  const { id, class: kind, type, epoch, sizeBytes, hostPath, leaseMs } = record;
  const kept = { class: kind, type, epoch, sizeBytes, ...(hostPath === undefined ? {} : { hostPath }) };
  const { switchover } = record;
  if (role === 'replica' && switchover?.step === 'preparing' && switchover.to === node)
    return { id, role, ...kept, prepare: switchover.images ?? [] };
  if (role !== 'primary' || !isLeased(record)) return { id, role, ...kept };
  const copiesTo = record.replicas.map(({ nodeId }) => nodeId);
  // Without a lease: what holds still is given none.
  if (switchover?.step === 'copying') return { id, role, ...kept, copiesTo, seal: switchover.attempt };
  return { id, role, ...kept, copiesTo, leaseMs };
}

/** Which volumes concern which node: kept from the view's changes, so that no report walks a whole tenant. */
export class PlacedVolumes {
  readonly #byNode = new Map<string, ByVolume>();

  constructor(view: StoreView) {
    for (const tenantId of view.tenantIdsWith('volumes')) {
      for (const stored of view.tenant(tenantId, 'volumes').list()) this.#add(tenantId, stored);
    }
    view.onChange((change) => this.#apply(change));
  }

  #apply({ tenantId, kind, before, after }: ViewChange): void {
    if (tenantId === undefined || kind !== 'volumes') return;
    if (before !== undefined) this.#remove(tenantId, before);
    if (after !== undefined) this.#add(tenantId, after);
  }

  #add(tenantId: TenantId, stored: Stored<VolumeRecord>): void {
    for (const node of nodesOf(stored.record)) {
      const key = nodeKey(tenantId, node);
      const volumes = this.#byNode.get(key) ?? new Map();
      volumes.set(stored.record.id, stored);
      this.#byNode.set(key, volumes);
    }
  }

  #remove(tenantId: TenantId, { record }: Stored<VolumeRecord>): void {
    for (const node of nodesOf(record)) {
      const key = nodeKey(tenantId, node);
      const volumes = this.#byNode.get(key);
      volumes?.delete(record.id);
      if (volumes?.size === 0) this.#byNode.delete(key);
    }
  }

  on(tenantId: TenantId, node: string): readonly Stored<VolumeRecord>[] {
    return [...(this.#byNode.get(nodeKey(tenantId, node))?.values() ?? [])];
  }

  find(tenantId: TenantId, node: string, volumeId: string): Stored<VolumeRecord> | undefined {
    return this.#byNode.get(nodeKey(tenantId, node))?.get(volumeId);
  }

  /** By id, so that equal assignments are equal texts. */
  assigned(tenantId: TenantId, node: string): readonly AssignedVolume[] {
    return this.on(tenantId, node)
      .flatMap(({ record }) => assignedVolume(record, node) ?? [])
      .sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** The primary of a volume that another node could take over. */
  holdsLease(tenantId: TenantId, node: string): boolean {
    return this.on(tenantId, node).some(
      ({ record }) => record.primaryNodeId === node && record.phase !== 'Deleting' && isLeased(record),
    );
  }
}
