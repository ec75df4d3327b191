import type { ConfigFile } from './config-file.ts';
import type { Confinement } from './confinement.ts';
import type { VersionOrigin } from './event.ts';
import type { IngressEntry } from './ingress.ts';
import type { DeploymentId, InstanceId, NodeName, TenantId } from './ids.ts';
import type { DeploymentName, OwnerName } from './owner.ts';
import type { StopTerms } from './stop.ts';

export interface HealthCheck {
  readonly type: 'exec';
  /** One element: shell form; several: argv. */
  readonly command: readonly string[];
  readonly interval?: string;
  readonly timeout?: string;
  readonly retries?: number;
  readonly startPeriod?: string;
  /** How long an instance may be unhealthy before it is restarted, or `never`. Read by controllers: no part of the container. */
  readonly restartAfter?: string;
}

/** As stored: `values` and `generate` exist only on drafts, so that material cannot reach a record by type. */
export interface SecretReference {
  readonly name: string;
  readonly vault_path: string;
  readonly anchor: string;
  readonly rotation: 'restart';
}

export interface VolumeMount {
  readonly volumeId: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
}

export interface Residency {
  readonly country?: string;
  readonly region?: string;
  readonly blockedCountries?: readonly string[];
}

export interface Placement {
  readonly residency?: Residency;
  readonly constraints?: Readonly<Record<string, string>>;
  readonly antiAffinity?: readonly string[];
}

export interface ResourceAmounts {
  /** Cores. */
  readonly cpu?: number;
  /** Bytes with a unit: `256Mi`, `1Gi`, `500M`, or plain bytes. */
  readonly memory?: string;
}

export interface ResourceRequests extends ResourceAmounts {
  /** Of the disk of the node's engine, for what containers write outside of volumes; as `memory`. */
  readonly disk?: string;
}

export interface Resources {
  readonly requests?: ResourceRequests;
  readonly limits?: ResourceAmounts;
}

export interface PortMapping {
  readonly container: number;
  readonly host?: number;
}

/** Who may connect to a deployment over the tenant's network; absent: every deployment and job of the tenant. */
export interface Access {
  /** Names of deployments and jobs, and `ingress`. Empty: nobody. */
  readonly from: readonly string[];
}

export interface UpdatePolicy {
  readonly maxSurge?: number;
  readonly maxUnavailable?: number;
  readonly progressDeadline?: string;
  readonly onFailure?: 'rollback' | 'leave';
}

export type DependencyGate = 'healthy' | 'started';

/** What a tenant asked for, valid and complete, with the alterations applied. */
export interface DeploymentSpec extends Workload {
  readonly name: DeploymentName;
}

/** A deployment, or a job as scheduler, secrets and dispatch see it (`jobWorkload`). */
export interface Workload extends Confinement {
  readonly kind: 'Deployment';
  readonly name: OwnerName;
  readonly image: string;
  readonly replicas: number;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets: readonly SecretReference[];
  readonly composedEnvironment?: Readonly<Record<string, string>>;
  readonly secretsVersion: number;
  readonly stop?: StopTerms;
  readonly files?: readonly ConfigFile[];
  readonly healthCheck?: HealthCheck;
  readonly volumes?: readonly VolumeMount[];
  readonly placement?: Placement;
  readonly resources?: Resources;
  readonly nodeId?: string;
  readonly dependsOn?: Readonly<Record<string, DependencyGate>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ports?: readonly PortMapping[];
  readonly ingress?: readonly IngressEntry[];
  /** Instead of the tenant's network; the name `tenant` adds that. */
  readonly networks?: readonly string[];
  readonly access?: Access;
  readonly update?: UpdatePolicy;
}

export type RotationPhase = 'stage' | 'promote' | 'retire' | 'abort';

export interface RotationState {
  /** The last accepted phase; absent before the first rotation. */
  readonly phase?: RotationPhase;
  /** By `vault_path`, of the credentials that the deployment rotates now: which versions it is delivered. */
  readonly secrets?: Readonly<Record<string, RotatedVersions>>;
}

/** Versions of one document during the overlap; a version that is not delivered is absent. */
export interface RotatedVersions {
  readonly current: number;
  readonly next?: number;
  readonly previous?: number;
}

export interface SeenImage {
  readonly image: string;
  readonly digest: string;
  /** The version that ran it. */
  readonly version: number;
}

export interface DeploymentRecord {
  readonly id: DeploymentId;
  readonly tenantId: TenantId;
  readonly spec: DeploymentSpec;
  readonly specHash: string;
  /** Of the manifest or index that the registry had for `image` when it was written; absent: it could not be asked. */
  readonly imageDigest?: string;
  /** What the images of this deployment were when they were last seen, newest first: tells a tag that moves. */
  readonly seenImages?: readonly SeenImage[];
  /** Number of the newest archive version; counts every accepted change. */
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly rotation?: RotationState;
  /** Somebody asked for other containers of the same spec. */
  readonly restart?: RestartOrder;
  /** Of single instances, until they are carried out and the next one is given. */
  readonly orders?: readonly InstanceOrder[];
  /** There: its version in the archive and the snapshot of its spec are this record, and not stored beside it; absent: they are. */
  readonly newest?: VersionOrigin;
}

/** Instances that were there then are replaced, by the rule of updates. */
export interface RestartOrder {
  /** For people. */
  readonly at: string;
  /** How many were asked for of all instances: those that were created for fewer are replaced. */
  readonly count: number;
  /** These too, until they are gone. */
  readonly instances?: readonly InstanceId[];
}

/** Carried out at once, whatever the rule of updates says. A deployment has at most one of an instance. */
export interface InstanceOrder {
  readonly instance: InstanceId;
  readonly at: string;
  /** `restart`: another container in its place; `stop`: it ends, and the deployment places a fresh one. */
  readonly kind: 'restart' | 'stop';
  /** Of a restart: the attempt that is wanted, so that it is carried out once. */
  readonly attempt?: number;
}

export type DeploymentPhase = 'Pending' | 'Waiting' | 'Progressing' | 'Running' | 'Degraded' | 'Stopped';

export interface InstanceView {
  readonly id: InstanceId;
  readonly nodeId: NodeName;
  readonly specHash: string;
  readonly state: string;
  readonly health?: string;
  readonly message?: string;
  /** On the tenant's network. */
  readonly address?: string;
  readonly canary?: boolean;
  /** Absent: its node answers. */
  readonly nodeStatus?: 'failed' | 'lost';
}

/** Of the canary's instances alone: they are none of the deployment's own counts. */
export interface CanaryStatus {
  readonly specHash: string;
  readonly desired: number;
  readonly placed: number;
  readonly running: number;
  readonly healthy: number;
  readonly message: string;
}

/** Written by controllers only; counts are of the current spec hash only. */
export interface DeploymentStatus {
  /** The spec that it speaks of: right after an update that is still the old one. */
  readonly specHash?: string;
  readonly phase: DeploymentPhase;
  /** When the phase was entered; for people only. */
  readonly since?: string;
  readonly message: string;
  readonly desired: number;
  readonly placed: number;
  readonly running: number;
  readonly healthy: number;
  readonly updated: number;
  /** While one runs. */
  readonly canary?: CanaryStatus;
}
