import type { InstanceId, NodeName, TenantId } from './ids.ts';

/** One wanted container of a deployment. Written by controllers only. */
export interface InstanceRecord {
  readonly id: InstanceId;
  readonly tenantId: TenantId;
  readonly deployment: string;
  /** Names the kept spec snapshot that this instance runs, so that old instances survive an update. */
  readonly specHash: string;
  readonly secretsVersion: number;
  readonly nodeId: NodeName;
  /** `stop`: the agent removes the container and reports; then the record goes. */
  readonly wanted: 'run' | 'stop';
  readonly canary?: boolean;
  readonly createdAt: string;
  /** Raised to make the agent replace the container although the spec did not change. */
  readonly attempt: number;
}

export type ContainerPhase =
  | 'pending'
  | 'pulling'
  | 'creating'
  | 'starting'
  | 'running'
  | 'exited'
  | 'failed'
  | 'removed'
  | 'unknown';

/** What the node's agent last saw. Written by dispatch/reports only. */
export interface InstanceObservation {
  readonly id: InstanceId;
  readonly phase: ContainerPhase;
  readonly health?: 'starting' | 'healthy' | 'unhealthy';
  readonly containerId?: string;
  readonly containerName?: string;
  readonly specHash?: string;
  readonly secretsVersion?: number;
  readonly exitCode?: number;
  readonly restarts?: number;
  /** Stable reason of a failure (`image_pull_failed`, `secret_unresolved`, `healthcheck_command_not_found` …) and words for people. */
  readonly reason?: string;
  readonly message?: string;
  /** Node-side times, for people only. */
  readonly startedAt?: string;
  readonly healthySince?: string;
  readonly ports?: readonly { readonly container: number; readonly host: number }[];
}
