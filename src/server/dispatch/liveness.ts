import type { TenantId } from '../../core/model/ids.ts';

/** Told of every sign of life; who decides what silence means is elsewhere, on the server's monotonic clock. */
export interface Liveness {
  sessionOpened(tenantId: TenantId, node: string): void;
  sessionClosed(tenantId: TenantId, node: string): void;
  beat(tenantId: TenantId, node: string): void;
}

export const NO_LIVENESS: Liveness = {
  sessionOpened: () => undefined,
  sessionClosed: () => undefined,
  beat: () => undefined,
};
