import type { ContainerDefaults } from '../../../core/model/container-defaults.ts';
import type { JobRunState, JobSpec } from '../../../core/model/job.ts';
import { useRecord, useRecords } from '../../app/use-records.ts';

export interface Run {
  readonly id: string;
  readonly trigger: string;
  readonly scheduledFor?: string;
  readonly state: JobRunState;
  readonly message: string;
  readonly createdAt: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly attempts: number;
  readonly retryAt?: string;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly skipped?: number;
  readonly nodeId?: string;
}

export interface Job extends JobSpec {
  readonly id: string;
  readonly createdAt: string;
  readonly containerDefaults: Partial<ContainerDefaults>;
  readonly status: {
    readonly phase: JobRunState | 'Scheduled';
    readonly message: string;
    readonly nextRunAt: string | null;
    /** Newest first. */
    readonly runs: readonly Run[];
  };
}

const JOBS = '/api/v1/jobs';

export function jobPath(name: string): string {
  return `${JOBS}/${encodeURIComponent(name)}`;
}

export function useJobs() {
  return useRecords<Job>('jobs', JOBS, { everyMs: 10_000 });
}

export function useJob(name: string) {
  return useRecord<Job>('jobs', jobPath(name), { everyMs: 5000 });
}

export function isUnderWay({ state }: Pick<Run, 'state'>): boolean {
  return state === 'Pending' || state === 'Running' || state === 'Retrying';
}
