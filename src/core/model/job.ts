import type { Confinement } from './confinement.ts';
import type { Placement, Resources, SecretReference, VolumeMount, Workload } from './deployment.ts';
import type { InstanceId, JobId, NodeName, TenantId } from './ids.ts';
import { type JobName, jobOwner } from './owner.ts';
import type { HookDelivery } from './rotation-hook.ts';

/** What a tenant asked for: a container that runs to its end, once or at the times of a schedule. */
export interface JobSpec extends Confinement {
  readonly kind: 'Job';
  readonly name: JobName;
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets: readonly SecretReference[];
  readonly composedEnvironment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly VolumeMount[];
  readonly placement?: Placement;
  readonly resources?: Resources;
  readonly nodeId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Cron, UTC. Absent: the job runs once, when it is created. */
  readonly schedule?: string;
  /** Of one attempt, from the start of its container. */
  readonly timeout?: string;
  /** Attempts after the first. */
  readonly retries?: number;
}

/** Never changed after it is made: a job is changed by deleting it and creating it again. */
export interface JobRecord {
  readonly id: JobId;
  readonly tenantId: TenantId;
  readonly spec: JobSpec;
  /** Of the workload: what its containers are made from. */
  readonly specHash: string;
  /** As of a deployment: every run runs these bytes. */
  readonly imageDigest?: string;
  readonly createdAt: string;
}

/** What people asked of a job beside its spec. Written by requests only; the controller remembers what it has taken up. */
export interface JobOrders {
  readonly run?: RunOrder;
  readonly cancel?: { readonly runId: string; readonly at: string; readonly by: string };
}

export interface RunOrder {
  readonly runId: string;
  readonly trigger: 'created' | 'manual' | 'hook';
  readonly at: string;
  readonly by: string;
  /** Of a run that a rotation asked for. */
  readonly hook?: HookDelivery;
}

export type JobRunState = 'Pending' | 'Running' | 'Retrying' | 'Succeeded' | 'Failed' | 'Cancelled';

export interface JobAttempt {
  readonly instanceId: InstanceId;
  readonly nodeId: NodeName;
  /** Its container was seen to run. */
  readonly started: boolean;
}

export interface JobRun {
  readonly id: string;
  readonly trigger: RunOrder['trigger'] | 'schedule' | 'catch-up';
  /** Of scheduled runs: the slot. */
  readonly scheduledFor?: string;
  readonly hook?: HookDelivery;
  readonly state: JobRunState;
  readonly message: string;
  readonly createdAt: string;
  /** When the first attempt was seen to run, and when the last one was seen to have ended. */
  readonly startedAt?: string;
  readonly finishedAt?: string;
  /** Attempts that were made. */
  readonly attempts: number;
  /** The newest attempt: the one under way while the run is not finished. */
  readonly attempt?: JobAttempt;
  readonly retryAt?: string;
  /** Of the last attempt that ended. */
  readonly exitCode?: number;
  readonly reason?: string;
  /** Slots of the schedule that passed while it ran. */
  readonly skipped?: number;
}

/** Written by the jobs controller only. */
export interface JobStatus {
  /** A status of an earlier job of the same name is cleared away before the new one is looked at. */
  readonly jobId: JobId;
  /** Oldest first, bounded. */
  readonly runs: readonly JobRun[];
  readonly nextRunAt?: string;
  /** The last slot of the schedule that was run or skipped. */
  readonly lastSlot?: string;
  /** Orders that were taken up. */
  readonly takenRun?: string;
  readonly takenCancel?: string;
  /** Digest of the reasons in the last `job.unschedulable`. */
  readonly unschedulable?: string;
}

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
export const JOB_LOG_BYTES = 128 * 1024;

/** The job as scheduler, secrets and dispatch see it: one instance of what a deployment would run. */
export function jobWorkload({ schedule: _s, timeout: _t, retries: _r, ...spec }: JobSpec): Workload {
  return { ...spec, kind: 'Deployment', name: jobOwner(spec.name), replicas: 1, secretsVersion: 0 };
}

export function isFinished({ state }: Pick<JobRun, 'state'>): boolean {
  return state === 'Succeeded' || state === 'Failed' || state === 'Cancelled';
}

/** The run that is under way; at most the newest is. */
export function activeRun(status: Pick<JobStatus, 'runs'> | undefined): JobRun | undefined {
  const last = status?.runs.at(-1);
  return last === undefined || isFinished(last) ? undefined : last;
}

/** Of the key of an attempt's log: it sorts by run, then by attempt. */
export function jobLogSegments(
  job: string,
  runId: string,
  attempt: number,
): readonly [string, string, string] {
  return [job, runId, String(attempt).padStart(2, '0')];
}
