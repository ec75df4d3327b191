import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { fencedAfterMs, type VolumeRecord } from '../../core/model/volume.ts';
import { LIVE_WITHIN_MS } from '../../core/planner/volume-copies.ts';
import type { CopyAge } from '../../core/planner/volume-facts.ts';

interface Heard {
  readonly seen: SeenVolume;
  readonly heardMs: number;
}

/** Which copies are within the limit of live; a change of it is worth a look. */
function withinLimit({ copies = [] }: SeenVolume): string {
  return copies.map(({ nodeId, ageMs = 0 }) => `${nodeId}:${ageMs <= LIVE_WITHIN_MS}`).join();
}

/**
 * Leases and measurements on this process's monotonic clock. A process that has just started does not know which leases its
 * predecessor gave, so every node may have got one at the very start.
 */
export class VolumeMemory {
  readonly #startedMs: number;
  readonly #leasedMs = new Map<string, number>();
  readonly #adoptedMs = new Map<TenantId, number>();
  readonly #withheld = new Map<string, Set<string>>();
  readonly #heard = new Map<string, Heard>();

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
  }

  mayLease(tenantId: TenantId, node: NodeName): boolean {
    return !this.#withheld.has(`${tenantId}/${node}`);
  }

  leased(tenantId: TenantId, node: NodeName, heardMs: number): void {
    this.#leasedMs.set(`${tenantId}/${node}`, heardMs);
  }

  /** No lease to the node until the promotion of the volume is stored or given up. */
  withhold(tenantId: TenantId, node: NodeName, volumeId: string): void {
    const key = `${tenantId}/${node}`;
    this.#withheld.set(key, (this.#withheld.get(key) ?? new Set()).add(volumeId));
  }

  release(tenantId: TenantId, node: NodeName, volumeId: string): void {
    const key = `${tenantId}/${node}`;
    const volumes = this.#withheld.get(key);
    volumes?.delete(volumeId);
    if (volumes?.size === 0) this.#withheld.delete(key);
  }

  /** Whoever decided for the tenant before may have let a lease be given up to now. */
  adopted(tenantId: TenantId, nowMs: number): void {
    this.#adoptedMs.set(tenantId, nowMs);
  }

  /** `elsewhereMs`: until when another control plane may have given the primary a lease. */
  fencedAtMs(tenantId: TenantId, record: VolumeRecord, elsewhereMs = 0): number {
    const own = this.#leasedMs.get(`${tenantId}/${record.primaryNodeId ?? ''}`) ?? this.#startedMs;
    return Math.max(own, elsewhereMs, this.#adoptedMs.get(tenantId) ?? 0) + fencedAfterMs(record);
  }

  /** True: worth a look that nothing stored would cause. */
  reported(tenantId: TenantId, node: NodeName, seen: SeenVolume, heardMs: number): boolean {
    const key = `${tenantId}/${seen.volumeId}/${node}`;
    const before = this.#heard.get(key);
    this.#heard.set(key, { seen, heardMs });
    return before !== undefined && withinLimit(before.seen) !== withinLimit(seen);
  }

  seen(tenantId: TenantId, volumeId: string, node: NodeName): SeenVolume | undefined {
    return this.#heard.get(`${tenantId}/${volumeId}/${node}`)?.seen;
  }

  copyAge(tenantId: TenantId, record: VolumeRecord, node: NodeName): CopyAge | undefined {
    const heard = this.#heard.get(`${tenantId}/${record.id}/${record.primaryNodeId ?? ''}`);
    if (heard?.seen.epoch !== record.epoch) return undefined;
    const ageMs = heard.seen.copies?.find(({ nodeId }) => nodeId === node)?.ageMs;
    return ageMs === undefined ? undefined : { ageMs, heardMs: heard.heardMs };
  }

  forget(tenantId: TenantId, volumeId: string, node: NodeName): void {
    this.#heard.delete(`${tenantId}/${volumeId}/${node}`);
  }
}
