import type { NodeName, TenantId } from './ids.ts';

/** Of one container. */
export const MAX_NETWORKS = 16;

/** In a list of networks: the tenant's own, which spans its nodes. No network can have this name. */
export const TENANT_NETWORK = 'tenant';

/** Feature of an agent that attaches containers to networks by name: an older one would put them on the tenant's. */
export const NETWORKS_FEATURE = 'networks';

export function isOnTenantNetwork({
  networks,
}: {
  readonly networks?: readonly string[] | undefined;
}): boolean {
  return networks === undefined || networks.includes(TENANT_NETWORK);
}

/** Those that are on one node. */
export function namedNetworks({
  networks = [],
}: {
  readonly networks?: readonly string[] | undefined;
}): readonly string[] {
  return networks.filter((name) => name !== TENANT_NETWORK);
}

/** Exactly what goes to the node agent. */
export interface NetworkSettings {
  readonly name: string;
  readonly driver: 'bridge';
  readonly labels: Readonly<Record<string, string>>;
  /** No route out. */
  readonly internal: boolean;
}

/** Never changed after it is made; it exists on one node. */
export interface NetworkRecord extends NetworkSettings {
  readonly tenantId: TenantId;
  readonly nodeId: NodeName;
  readonly createdAt: string;
}

/** What the agent last said of it; nothing is known before that. */
export interface NetworkObservation {
  readonly name: string;
  readonly state: 'ready' | 'failed';
  readonly message?: string;
}
