import type { BackupRecord, BackupSummary } from '../../core/model/backup.ts';
import type { CanaryRecord } from '../../core/model/canary.ts';
import type { CredentialRecord, SecretDeliveries } from '../../core/model/credential.ts';
import type { DeploymentName } from '../../core/model/owner.ts';
import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import type { DeploymentRecord, DeploymentSpec } from '../../core/model/deployment.ts';
import type { ArchiveRecord, AuditRecord, EventRecord } from '../../core/model/event.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { ImagePolicy } from '../../core/model/image-policy.ts';
import type { IngressReportRecord } from '../../core/model/ingress.ts';
import type { InstanceObservation, InstanceRecord } from '../../core/model/instance.ts';
import type { NetworkObservation, NetworkRecord } from '../../core/model/network.ts';
import type { JobLog, JobOrders, JobRecord, StoredJobStatus } from '../../core/model/job.ts';
import type { FailureLog, KeptFailures } from '../../core/model/kept-failure.ts';
import type { MeshPathsRecord, SubnetRecord, VirtualAddressRecord } from '../../core/model/mesh.ts';
import type { NodeLiveness, NodeRecord } from '../../core/model/node.ts';
import type { RolloutRecord, StoredStatus } from '../../core/model/rollout.ts';
import type { ScalingPolicyRecord } from '../../core/model/scaling.ts';
import type { SessionRecord } from '../../core/model/session.ts';
import type { SpecSnapshot } from '../../core/model/spec-snapshot.ts';
import type { Quota, Tenant, TokenRecord } from '../../core/model/tenant.ts';
import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import type { VolumeClaims, VolumeRecord } from '../../core/model/volume.ts';
import { MIGRATIONS, OLDEST_FORMAT } from './migrations.ts';
import { RecordCodec, StoreFormatError } from './record-codec.ts';
import type { DeadLetter, WebhookDelivery, WebhookOrders, WebhookRecord } from '../../core/model/webhook.ts';

export interface ControlPlaneRecord {
  readonly nodeName: string;
  readonly startedAt: string;
  readonly version: string;
  /** Where other control planes reach it. */
  readonly url: string;
  /** Where agents reach it. */
  readonly agentUrl: string;
  /** SHA-256 of its certificate, when it serves TLS. */
  readonly certificate?: string;
  /** Which form of proof it reads (`cluster/peer-proof.ts`); absent: the first. */
  readonly proofForm?: number;
  /** The newest format of the store that it reads; absent: the first. */
  readonly format?: number;
}

/** What the records of a store may look like. Every release reads this one record, so it never changes but by members that are added. */
export interface StoreFormatRecord {
  readonly format: number;
  /** That raised it. */
  readonly release: string;
  /** All records of earlier formats were written again in this one. */
  readonly rewritten: number;
}

export interface ShardRecord {
  /** Process id. The revision of this record is the epoch that guards every write of the owner. */
  readonly owner: string;
}

export interface InstallationKeys {
  readonly tokenKey: string;
  /** Absent: secrets are not kept in the embedded store. */
  readonly rootKey?: string;
}

/** Where the agent of a node is connected; written by the control plane that has the session. */
export interface NodeSession {
  readonly controlPlane: string;
  readonly epoch: number;
  /** Absent while it is open. How long the agent had been silent when this was written: no wall clock. */
  readonly closed?: { readonly silentMs: number };
}

/** Platform-wide records by kind. Who writes them, and what their ids are made of: `owners.ts`. */
export interface GlobalRecords {
  tenants: Tenant;
  'tenant-slugs': { readonly tenantId: TenantId };
  /** A deleted tenant whose history is still to be erased. */
  'tenant-erasures': {
    readonly requestedAt: string;
    readonly slug?: string;
    /** Why its secret material is still there. */
    readonly problem?: string;
  };
  tokens: TokenRecord;
  /** by the keyed hash of the session's id */
  sessions: SessionRecord;
  'node-names': { readonly tenantId: TenantId };
  /** A control plane that runs now; held by its lease, so it goes with the process. */
  'control-planes': ControlPlaneRecord;
  /** Machines that control planes run on, for the control-plane node rule; outlives restarts. */
  'control-plane-nodes': { readonly since: string };
  /** Who decides for the tenants of the shard; held by the lease of the owner. */
  shards: ShardRecord;
  /** the one record, `keys`: fingerprints of the keys that every control plane must share. */
  installation: InstallationKeys;
  /** the one record, `format` */
  'store-format': StoreFormatRecord;
}

/** A tenant's live records by kind. */
export interface TenantRecords {
  deployments: DeploymentRecord;
  /** Written by older versions, gone with the deployment: the view finds by id what it holds */
  'deployment-ids': { readonly name: string };
  /** The archive version that a deletion left, so that a new deployment of the name continues after it */
  'last-versions': { readonly version: number };
  'deployment-status': StoredStatus;
  /** To be read by `rolloutOf`. */
  rollouts: RolloutRecord;
  /** The newest failures of its instances; gone with the deployment, and after a while */
  failures: KeptFailures;
  jobs: JobRecord;
  'job-status': StoredJobStatus;
  'job-orders': JobOrders;
  /** What an attempt printed is kept, or cannot be; `agents` writes it, the jobs controller removes it */
  'job-captures': { readonly bytes: number; readonly problem?: string };
  'scaling-policies': ScalingPolicyRecord;
  canaries: CanaryRecord;
  /** By deployment or job owner: what an instance runs, kept while one does. */
  specs: SpecSnapshot;
  instances: InstanceRecord;
  observations: InstanceObservation;
  nodes: NodeRecord;
  'node-liveness': NodeLiveness;
  /** By node, and by deployment; kept for a day after those are gone */
  subnets: SubnetRecord;
  'mesh-paths': MeshPathsRecord;
  'virtual-addresses': VirtualAddressRecord;
  /** `node.drained` was published while it drains; the drain controller writes it, requests that end or begin the drain remove it */
  'node-drains': { readonly toldAt: string };
  /** Only where several control planes share the store */
  'node-sessions': NodeSession;
  volumes: VolumeRecord;
  'volume-names': { readonly volumeId: string };
  'volume-claims': VolumeClaims;
  'volume-observations': SeenVolume;
  /** Of ingress nodes */
  'ingress-reports': IngressReportRecord;
  /** By host with path, or by protocol with port: who has it */
  'ingress-claims': { readonly deployment: DeploymentName };
  networks: NetworkRecord;
  /** Written by `agents`, gone with the network */
  'network-observations': NetworkObservation;
  /** All references to one credential use one namespace */
  'secret-labels': {
    readonly namespace: string;
    /** A document of this label is about to go; whoever refers to it waits for that. */
    readonly deleting?: string;
  };
  credentials: CredentialRecord;
  /** Written by `agents` before the material is sent, gone with the instance */
  'secret-deliveries': SecretDeliveries;
  webhooks: WebhookRecord;
  /** Dead letters to send again */
  'webhook-orders': WebhookOrders;
  /** How far it is in the journal, and how the sending goes */
  'webhook-deliveries': WebhookDelivery;
  /** the one record: `image-policy` */
  'image-policy': ImagePolicy;
  /** the one record: `quota` */
  quota: Quota;
  /** the one record, `defaults`: what the tenant has of its own */
  'container-defaults': Partial<ContainerDefaults>;
}

export interface IdempotentAnswer {
  /** Digest of method, path and body: the same key with another request is refused. */
  readonly requestDigest: string;
  readonly status: number;
  readonly body: string;
  readonly etag?: string;
  readonly expiresAt: string;
}

/** A tenant's cold records by kind. */
export interface ColdRecords {
  /** The version is zero-padded so that key order is version order */
  archives: ArchiveRecord<DeploymentSpec>;
  backups: BackupRecord;
  /** What a list shows, so that it never reads the contents */
  'backup-summaries': BackupSummary;
  events: EventRecord;
  audit: AuditRecord;
  /** What a failed run printed last */
  'failure-logs': FailureLog;
  /** The attempt has two digits. */
  'job-logs': JobLog;
  'webhook-dead-letters': DeadLetter;
  idempotency: IdempotentAnswer;
}

/** What this release reads and writes. */
export const CODEC = new RecordCodec(OLDEST_FORMAT, MIGRATIONS);

export function encodeRecord(record: object): string {
  return CODEC.encode(record);
}

/** As it was written, for callers that pass it on as it is: a large one takes long to read and to write again. */
export function recordText(key: string, text: string): string {
  return CODEC.membersIn(text) ?? JSON.stringify(decodeRecord(key, text));
}

export function decodeRecord<T>(key: string, text: string): T {
  const members = CODEC.membersIn(text);
  let parsed: unknown;
  try {
    parsed = members === undefined ? CODEC.migrated(key, text) : JSON.parse(members);
  } catch (cause) {
    if (cause instanceof StoreFormatError) throw cause;
    throw new Error(`the stored record ${key} cannot be read`, { cause });
  }
  // What is under a key was encoded from a record of its kind.
  return parsed as T;
}
