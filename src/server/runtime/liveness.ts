import type { NodeName, TenantId } from '../../core/model/ids.ts';

/** Signs of life, as the sessions with agents tell them; what silence means is judged elsewhere, on the server's monotonic clock. */
export interface Liveness {
  /** Any message of the node's agent. */
  beat(tenantId: TenantId, node: NodeName): void;
  sessionOpened(tenantId: TenantId, node: NodeName): void;
  sessionClosed(tenantId: TenantId, node: NodeName): void;
}
