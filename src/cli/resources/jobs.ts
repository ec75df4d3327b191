import { named } from '../client.ts';
import { textOf } from '../fields.ts';
import type { Listing } from '../output.ts';
import type { Job, JobRun } from '../records.ts';
import { age } from '../table.ts';
import { ageOf, field, messageOf, type Resource } from './resource.ts';

const lastRun = (record: Job): JobRun | undefined => (record.status?.runs ?? [])[0];

export const jobs: Resource<Job> = {
  name: 'jobs',
  aliases: ['job'],
  nameOf: (record) => `job/${textOf(record.name)}`,
  page: (record) => `/jobs/${textOf(record.name)}`,
  nothing: 'no jobs yet; a job is a document of kind Job in a file',
  next: 'berth apply -f FILE',
  list: (client) => client.list('GET /api/v1/jobs'),
  one: (client, name) => client.record('GET /api/v1/jobs/{name}', named(name)),
  columns: [
    field('NAME', (one) => one.name),
    field('PHASE', (one) => one.status?.phase),
    { header: 'SCHEDULE', cell: (record) => textOf(record.schedule) || 'once' },
    {
      header: 'LAST RUN',
      cell: (record) => {
        const run = lastRun(record);
        return run === undefined ? '-' : textOf(run.state);
      },
    },
    {
      header: 'SINCE',
      cell: (record, now) => {
        const run = lastRun(record);
        return run === undefined ? '-' : age(textOf(run.finishedAt) || textOf(run.createdAt), now);
      },
    },
    { header: 'NEXT', cell: (record) => textOf(record.status?.nextRunAt) || '-' },
    field('IMAGE', (one) => one.image, true),
    messageOf((one) => one.status?.message),
  ],
};

/** The runs of one job, as `describe` shows them. */
export const JOB_RUNS: Listing<JobRun> = {
  nameOf: (record) => textOf(record.id),
  columns: [
    field('RUN', (one) => one.id),
    field('STATE', (one) => one.state),
    field('TRIGGER', (one) => one.trigger),
    field('ATTEMPTS', (one) => one.attempts),
    field('EXIT', (one) => one.exitCode),
    field('NODE', (one) => one.nodeId),
    ageOf((one) => one.createdAt),
    messageOf((one) => one.message),
  ],
};
