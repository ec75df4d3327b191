import { useRecord, useRecords } from '../../app/use-records.ts';
import type { Job } from '../../lib/records.ts';

export type Run = Job['status']['runs'][number];

export function useJobs() {
  return useRecords('jobs', 'GET /api/v1/jobs', { everyMs: 10_000 });
}

export function useJob(name: string) {
  return useRecord('jobs', 'GET /api/v1/jobs/{name}', { params: { name } }, { everyMs: 5000 });
}

export function isUnderWay({ state }: Pick<Run, 'state'>): boolean {
  return state === 'Pending' || state === 'Running' || state === 'Retrying';
}
