import type { job } from './answers/job.ts';
import { type Answer, exactly, type Exactly } from '../schema/shape.ts';
import { appliedDefaults, type ContainerDefaults } from '../model/container-defaults.ts';
import type { JobRecord, JobSpec, StoredJobStatus } from '../model/job.ts';
import { isFinished, type JobRunState, type StoredRun } from '../model/job-run.ts';
import { pinOf } from '../model/spec-snapshot.ts';
import { storedLabels } from './deployment-view.ts';

type Job = Answer<typeof job>;
const asJob = exactly<Job>();

export type JobPhase = JobRunState | 'Scheduled';

/** The phase of the job: that of its newest run; a scheduled job whose run has ended waits for the next slot. */
export function jobPhase(spec: JobSpec, status: StoredJobStatus | undefined): JobPhase {
  const last = status?.runs.at(-1);
  if (last === undefined) return spec.schedule === undefined ? 'Pending' : 'Scheduled';
  return isFinished(last) && spec.schedule !== undefined ? 'Scheduled' : last.state;
}

function runView({ attempt, terms, ...run }: StoredRun): Job['status']['runs'][number] {
  return {
    ...run,
    ...(terms && { specHash: terms.specHash }),
    ...(attempt && { nodeId: attempt.nodeId, instanceId: attempt.instanceId }),
  };
}

function messageOf(spec: JobSpec, status: StoredJobStatus | undefined): string {
  const last = status?.runs.at(-1);
  if (last === undefined)
    return spec.schedule === undefined ? 'accepted; not reconciled yet' : 'has not run yet';
  return isFinished(last) && spec.schedule !== undefined
    ? `last run ${last.state}: ${last.message}`
    : last.message;
}

/** A job as every read and write answers it; runs newest first, in a list only the newest. */
export function jobView(
  record: JobRecord,
  revision: number,
  status: StoredJobStatus | undefined,
  defaults: ContainerDefaults,
  shownRuns = Infinity,
): Exactly<Job> {
  const { spec } = record;
  // Of an earlier job of the same name.
  const own = status?.jobId === record.id ? status : undefined;
  return asJob({
    ...spec,
    id: record.id,
    tenantId: record.tenantId,
    revision,
    specHash: record.specHash,
    ...pinOf(record.imageDigest),
    createdAt: record.createdAt,
    updatedAt: record.updatedAt ?? record.createdAt,
    storedLabels: storedLabels(spec),
    containerDefaults: appliedDefaults(defaults, spec.resources),
    status: {
      phase: jobPhase(spec, own),
      message: messageOf(spec, own),
      nextRunAt: own?.nextRunAt ?? null,
      runs: (own?.runs ?? []).toReversed().slice(0, shownRuns).map(runView),
    },
  });
}
