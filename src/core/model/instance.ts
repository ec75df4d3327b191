import type { InstanceId, NodeName, TenantId } from './ids.ts';
import type { OwnerName } from './owner.ts';

/** How a job's container is run: once, kept after its end until it is ordered to go. */
export interface OnceTerms {
  readonly runId: string;
  /** 1 for the first of the run. */
  readonly attempt: number;
  /** From the start of the container. */
  readonly timeoutMs?: number;
  /** End it now, and keep it. */
  readonly end?: boolean;
}

/** One wanted container of a deployment, or of a job's attempt. Written by controllers only. */
export interface InstanceRecord {
  readonly id: InstanceId;
  readonly tenantId: TenantId;
  readonly deployment: OwnerName;
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
  /** How often it was restarted because it was unhealthy, since it was last well for a while. */
  readonly healthRestarts?: number;
  /** How many restarts of the whole deployment had been asked for when it was created; absent: none. */
  readonly restart?: number;
  /** Why it is to be replaced on another node. */
  readonly leaving?: string;
  /** Of jobs only. */
  readonly once?: OnceTerms;
}

export const CONTAINER_PHASES = [
  'pending',
  'pulling',
  'creating',
  'starting',
  'running',
  'exited',
  'failed',
  'removed',
  'unknown',
] as const;

export type ContainerPhase = (typeof CONTAINER_PHASES)[number];

/** What the node's agent last saw. Written by agents/reports/reports only. */
export interface InstanceObservation {
  readonly id: InstanceId;
  readonly phase: ContainerPhase;
  readonly health?: 'starting' | 'healthy' | 'unhealthy';
  readonly containerId?: string;
  readonly containerName?: string;
  readonly specHash?: string;
  readonly secretsVersion?: number;
  /** On the tenant's network. */
  readonly address?: string;
  readonly exitCode?: number;
  readonly restarts?: number;
  /** Stable reason of a failure (`image_pull_failed`, `secret_unresolved`, `healthcheck_command_not_found` …) and a message for people. */
  readonly reason?: string;
  readonly message?: string;
  /** Node-side times, for people only. */
  readonly startedAt?: string;
  readonly healthySince?: string;
  readonly ports?: readonly { readonly container: number; readonly host: number }[];
}
