import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';

/**
 * What sessions report to the volumes controller in the same process: measurements, which are too many to be stored, and
 * leases, whose times are on this process's monotonic clock.
 */
export interface VolumeSigns {
  /** False: the node must not write on, because its place is being given away. */
  mayLease(tenantId: TenantId, node: NodeName): boolean;
  /** Before the answer goes out. `heardMs`: when the report that is answered was heard. */
  leased(tenantId: TenantId, node: NodeName, heardMs: number): void;
  /** The newest observation of a volume by a node. */
  reported(tenantId: TenantId, node: NodeName, seen: SeenVolume, heardMs: number): void;
  /** Its session with this process ended: its report may be outdated. */
  closed(tenantId: TenantId, node: NodeName): void;
}

/** Leases that another thread of this process repeats; times are of its monotonic clock. */
export interface RepeatedLeases {
  lastMs(tenantId: TenantId, node: string): number | undefined;
  /** None from here on, until a session has given one again; answers when the last one was. */
  stop(tenantId: TenantId, node: string): number | undefined;
}
