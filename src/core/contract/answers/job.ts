import { shape } from '../../schema/shape.ts';
import { ownedFields } from './deployment.ts';
import { placementPlan } from './placement.ts';
import {
  announced,
  containerDefaults,
  integer,
  listOf,
  nullable,
  optional,
  text,
  time,
} from './field-shapes.ts';
import { jobSpecFields } from './workload.ts';

export const RUN_STATES = ['Pending', 'Running', 'Retrying', 'Succeeded', 'Failed', 'Cancelled'] as const;

const jobRun = shape({
  type: 'object',
  named: 'JobRun',
  fields: {
    id: text,
    trigger: { type: 'string', values: ['created', 'manual', 'hook', 'schedule', 'catch-up'] },
    state: { type: 'string', values: RUN_STATES },
    message: text,
    scheduledFor: optional(time),
    hook: {
      type: 'object',
      optional: true,
      description: 'Of a run that a rotation asked for: which versions it is given.',
      fields: {
        hook: { type: 'string', values: ['apply', 'revoke'] },
        path: text,
        current: integer,
        previous: integer,
      },
    },
    specHash: {
      ...text,
      optional: true,
      description: 'Of the description that it runs; the job may have another one since.',
    },
    createdAt: time,
    preparedAt: {
      ...time,
      optional: true,
      description: 'When the command of `before` had succeeded.',
    },
    startedAt: optional(time),
    finishedAt: optional(time),
    retryAt: optional(time),
    attempts: integer,
    exitCode: optional(integer),
    reason: optional(text),
    failures: {
      ...listOf({
        type: 'object',
        fields: {
          attempt: integer,
          at: time,
          nodeId: text,
          instanceId: text,
          reason: optional(text),
          message: text,
          exitCode: optional(integer),
        },
      }),
      optional: true,
      description:
        'How its attempts failed, oldest first, at most the last 3; what each of them printed: logs?run={id}&attempt={attempt}.',
    },
    skipped: { ...integer, optional: true, description: 'Slots of the schedule that passed while it ran.' },
    nodeId: optional(text),
    instanceId: optional(text),
  },
});

const jobFields = {
  ...jobSpecFields,
  ...ownedFields,
  containerDefaults,
  status: {
    type: 'object',
    fields: {
      phase: { type: 'string', values: [...RUN_STATES, 'Scheduled'] },
      message: text,
      nextRunAt: nullable(time),
      runs: {
        ...listOf(jobRun),
        description: 'Newest first, at most 20; in a list of jobs the newest alone.',
      },
    },
  },
} as const;

export const job = shape({
  type: 'object',
  named: 'Job',
  description: 'The stored description, with what the server owns.',
  fields: jobFields,
});

export const jobWritten = shape({
  type: 'object',
  named: 'JobWritten',
  fields: {
    ...jobFields,
    ...announced,
    run: { ...text, optional: true, description: 'Of run and cancel: the run it is about.' },
    plan: optional(placementPlan),
  },
});
