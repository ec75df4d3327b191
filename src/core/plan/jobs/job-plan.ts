import type { Workload } from '../../model/deployment.ts';
import type { InstanceId, NodeName } from '../../model/ids.ts';
import type { InstanceObservation, InstanceRecord, OnceTerms } from '../../model/instance.ts';
import type { JobOrders, JobRecord, JobStatus } from '../../model/job.ts';
import type { JobRun } from '../../model/job-run.ts';
import type { CronSchedule } from '../../model/schedule.ts';
import type { CommandPlace, CommandProgress, PlannedCommand } from './before-command.ts';
import type { NodeCondition } from '../rollout/instance-state.ts';
import type { Placed, PlacementRefusal, Placer } from '../rollout/placer.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';

export interface Clearing {
  /** Containers to be ended and kept. */
  readonly end: readonly InstanceRecord[];
  readonly stop: readonly InstanceRecord[];
  /** Records whose container is gone. */
  readonly remove: readonly InstanceRecord[];
}

/** Times on the monotonic clock; a restarted process starts them over. */
export interface JobMemory {
  readonly retry?: { readonly key: string; readonly dueMs: number };
  readonly failing?: { readonly instanceId: InstanceId; readonly sinceMs: number };
  /** Since when the command before a run has no instance to be run in, or does not get through to it. */
  readonly unprepared?: {
    readonly runId: string;
    readonly sinceMs: number;
    /** When one did not get through last, and why. */
    readonly tried?: { readonly atMs: number; readonly why: string };
    /** When the one that is under way began: what it runs is no waiting. */
    readonly begunMs?: number;
  };
  /** Since when an instance is no longer needed. */
  readonly leftover: ReadonlyMap<InstanceId, number>;
}

export interface JobPlanInput {
  readonly name: string;
  /** Absent: the job was deleted. */
  readonly job?: JobRecord;
  readonly orders?: JobOrders;
  readonly status?: JobStatus;
  readonly instances: readonly InstanceRecord[];
  readonly observationOf: (id: InstanceId) => InstanceObservation | undefined;
  /** What it printed is kept, or cannot be. */
  readonly isCaptured: (id: InstanceId) => boolean;
  readonly nodeOf: (node: NodeName) => NodeCondition;
  /** For what a run was begun with. */
  readonly placer: { place(specHash: string): ReturnType<Placer['place']> };
  /** What a run was begun with, where it is not what the job is now. */
  readonly specOf?: (specHash: string) => Pick<Workload, 'volumes'> | undefined;
  /** Where a command can be run in the deployment now. */
  readonly commandPlace: (deployment: string) => CommandPlace;
  /** What this process knows of the command before the run under way. */
  readonly command?: CommandProgress;
  readonly schedule?: CronSchedule;
  readonly memory?: JobMemory;
  readonly nowMs: number;
  readonly wallMs: number;
  /** How records spell times. */
  readonly times: { readonly text: (ms: number) => string; readonly ms: (text: string) => number };
  readonly nextRunId: () => string;
}

export interface JobPlan extends Clearing {
  readonly create?: Placed & { readonly once: OnceTerms; readonly specHash: string };
  /** To be under way; absent: none is to be. */
  readonly command?: PlannedCommand;
  /** Absent: there is none, or it goes. */
  readonly status?: JobStatus;
  /** Runs whose logs go. */
  readonly forget: readonly JobRun[];
  readonly events: readonly PlannedEvent[];
  readonly memory: JobMemory;
  readonly recheckInMs?: number;
  readonly more: boolean;
  readonly refusal?: PlacementRefusal;
}
