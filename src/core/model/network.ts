import type { NodeName, TenantId } from './ids.ts';

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
