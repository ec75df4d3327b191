import type { JobRun } from '../../model/job-run.ts';
import type { PlacementRefusal } from '../rollout/placer.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';

export function jobEvent(
  job: string,
  kind: string,
  message: string,
  details: Readonly<Record<string, unknown>> = {},
): PlannedEvent {
  return { kind: `job.${kind}`, subject: { kind: 'Job', name: job }, message, details };
}

export function runEvent(
  job: string,
  kind: string,
  run: JobRun,
  text: string,
  details: Readonly<Record<string, unknown>> = {},
): PlannedEvent {
  const { id, trigger, attempts, attempt } = run;
  return jobEvent(job, kind, `${job}: run ${id} ${text}`, {
    run: id,
    trigger,
    attempt: attempts,
    ...(attempt && { node: attempt.nodeId }),
    ...details,
  });
}

export function jobUnschedulable(job: string, run: JobRun, refusal: PlacementRefusal): PlannedEvent {
  return jobEvent(job, 'unschedulable', refusal.message, {
    run: run.id,
    summary: refusal.summary,
    ...refusal.details,
  });
}
