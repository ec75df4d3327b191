import { type Json, segment } from '../client.ts';
import { listOf, textOf } from '../fields.ts';
import type { Listing } from '../output.ts';
import { age } from '../table.ts';
import { ageOf, field, named, type Resource } from './resource.ts';

const lastRun = (record: Json): Json | undefined => listOf(record, 'status.runs')[0];

export const jobs: Resource = {
  name: 'jobs',
  aliases: ['job'],
  nameOf: (record) => `job/${textOf(record, 'name')}`,
  nothing: 'no jobs yet; a job is a document of kind Job in a file',
  next: 'berth apply -f FILE',
  list: (client) => client.list('/api/v1/jobs'),
  one: (client, name) => client.record({ path: `/api/v1/jobs/${segment(name)}` }),
  columns: [
    field('NAME', 'name'),
    field('PHASE', 'status.phase'),
    { header: 'SCHEDULE', cell: (record) => textOf(record, 'schedule') || 'once' },
    {
      header: 'LAST RUN',
      cell: (record) => {
        const run = lastRun(record);
        return run === undefined ? '-' : textOf(run, 'state');
      },
    },
    {
      header: 'SINCE',
      cell: (record, now) => {
        const run = lastRun(record);
        return run === undefined ? '-' : age(textOf(run, 'finishedAt') || textOf(run, 'createdAt'), now);
      },
    },
    { header: 'NEXT', cell: (record) => textOf(record, 'status.nextRunAt') || '-' },
    field('IMAGE', 'image', true),
    field('MESSAGE', 'status.message'),
  ],
};

/** The runs of one job, as `describe` shows them. */
export const JOB_RUNS: Listing = {
  nameOf: named('id'),
  columns: [
    field('RUN', 'id'),
    field('STATE', 'state'),
    field('TRIGGER', 'trigger'),
    field('ATTEMPTS', 'attempts'),
    field('EXIT', 'exitCode'),
    field('NODE', 'nodeId'),
    ageOf('createdAt'),
    field('MESSAGE', 'message'),
  ],
};
