import type { ConfigFile } from './config-file.ts';
import type { Confinement } from './confinement.ts';
import type { Placement, Resources, SecretReference, VolumeMount, Workload } from './deployment.ts';
import type { JobId, TenantId } from './ids.ts';
import type { JobRun, OrderTrigger, StoredRun } from './job-run.ts';
import { type DeploymentName, type JobName, jobOwner } from './owner.ts';
import type { HookDelivery } from './rotation-hook.ts';
import type { StopTerms } from './stop.ts';

/** A command in a running instance of a deployment that has to succeed before a run of the job starts its container. */
export interface BeforeCommand {
  readonly deployment: DeploymentName;
  readonly command: readonly string[];
  /** Absent: `BEFORE_TIMEOUT`. */
  readonly timeout?: string;
}

/** What a tenant asked for: a container that runs to its end, once or at the times of a schedule. */
export interface JobSpec extends Confinement {
  readonly kind: 'Job';
  readonly name: JobName;
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets: readonly SecretReference[];
  readonly composedEnvironment?: Readonly<Record<string, string>>;
  readonly stop?: StopTerms;
  readonly files?: readonly ConfigFile[];
  readonly volumes?: readonly VolumeMount[];
  readonly placement?: Placement;
  readonly resources?: Resources;
  readonly nodeId?: string;
  readonly networks?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Cron, UTC. Absent: the job runs once, when it is created. */
  readonly schedule?: string;
  /** Of one attempt, from the start of its container. */
  readonly timeout?: string;
  /** Attempts after the first. */
  readonly retries?: number;
  readonly before?: BeforeCommand;
}

export interface JobRecord {
  readonly id: JobId;
  readonly tenantId: TenantId;
  readonly spec: JobSpec;
  /** Of the workload: what its containers are made from. */
  readonly specHash: string;
  /** As of a deployment: every run runs these bytes. */
  readonly imageDigest?: string;
  readonly createdAt: string;
  /** Absent: never changed. */
  readonly updatedAt?: string;
  /** When the schedule was changed last: slots before are none of it. Absent: since it was made. */
  readonly scheduledSince?: string;
}

/** What people asked of a job beside its spec. Written by requests only; the controller remembers what it has taken up. */
export interface JobOrders {
  readonly run?: RunOrder;
  readonly cancel?: { readonly runId: string; readonly at: string; readonly by: string };
}

export interface RunOrder {
  readonly runId: string;
  readonly trigger: OrderTrigger;
  readonly at: string;
  readonly by: string;
  /** Of a run that a rotation asked for. */
  readonly hook?: HookDelivery;
}

/** Written by the jobs controller only. */
export interface JobStatus<Run extends StoredRun = JobRun> {
  /** A status of an earlier job of the same name is removed before the new one is reconciled. */
  readonly jobId: JobId;
  /** Oldest first, bounded. */
  readonly runs: readonly Run[];
  readonly nextRunAt?: string;
  /** The last slot of the schedule that was run or skipped. */
  readonly lastSlot?: string;
  /** Of the schedule that the slot is of. */
  readonly scheduledSince?: string;
  /** Orders that were taken up. */
  readonly takenRun?: string;
  readonly takenCancel?: string;
  /** Digest of the reasons in the last `job.unschedulable`. */
  readonly unschedulable?: string;
}

export type StoredJobStatus = JobStatus<StoredRun>;

/** What an attempt printed, cut to its end. */
export interface JobLog {
  readonly text: string;
  /** Bytes before `text` that were not kept. */
  readonly dropped: number;
  /** Why there is nothing, or not all. */
  readonly problem?: string;
  readonly capturedAt: string;
}

export const JOB_RUNS_KEPT = 20;
export const JOB_RETRIES_MAX = 10;
export const BEFORE_TIMEOUT = '10m';
export const JOB_LOG_BYTES = 128 * 1024;

/** The job as scheduler, secrets and dispatch see it: one instance of what a deployment would run. */
export function jobWorkload({
  schedule: _s,
  timeout: _t,
  retries: _r,
  before: _b,
  ...spec
}: JobSpec): Workload {
  return { ...spec, kind: 'Deployment', name: jobOwner(spec.name), replicas: 1, secretsVersion: 0 };
}

/** Of the key of an attempt's log: it sorts by run, then by attempt. */
export function jobLogSegments(
  job: string,
  runId: string,
  attempt: number,
): readonly [string, string, string] {
  return [job, runId, String(attempt).padStart(2, '0')];
}
