import { DURATION } from '../contract/forms.ts';
import { LOG_LEVELS } from '../model/log-level.ts';
import type { QueryParameter } from './operation.ts';

type Parameters = Readonly<Record<string, QueryParameter>>;

/** Lines of a log that can be asked for at a time. */
export const MAX_TAIL = 100_000;

export const LIST_QUERY = {
  limit: {
    description: 'Entries per page.',
    schema: { type: 'integer', minimum: 1, maximum: 1000, default: 500 },
  },
  cursor: {
    description: 'Where the next page starts; from the Link header.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$' },
  },
} as const satisfies Parameters;

export const DRY_RUN = {
  dryRun: {
    description: 'Run every rule and the scheduler, store nothing, and answer with the plan.',
    schema: { type: 'boolean', default: false },
  },
} as const satisfies Parameters;

/** Of the answer to a dry run that asks for all rejections: another shape than that of a document that is taken. */
export const REJECTIONS_TYPE = 'application/vnd.berth.rejections+json';

export const ALL = {
  all: {
    description:
      'Of a write that is refused: look at the whole document. The answer stays the first rejection, and the header X-Berth-Rejections names all of them; with dryRun the answer is 200 with all of them, whole.',
    schema: { type: 'boolean', default: false },
  },
} as const satisfies Parameters;

/** As `planId` writes it. */
export const PLAN_ID = '^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}$';

export const PLAN = {
  plan: {
    description:
      'The id of the plan that a dry run showed: nothing is stored when the same request would do anything else by now.',
    schema: { type: 'string', pattern: PLAN_ID },
  },
} as const satisfies Parameters;

/** Of what may refer to others that are created with it. */
export const WRITE_QUERY = {
  ...DRY_RUN,
  ...ALL,
  ...PLAN,
  alongside: {
    description:
      'Names, with commas between them, of what the caller creates together with this: a reference to one of them is a warning while it does not exist, not a refusal.',
    schema: {
      type: 'string',
      pattern: '^[a-z]([a-z0-9-]{0,61}[a-z0-9])?(,[a-z]([a-z0-9-]{0,61}[a-z0-9])?){0,1023}$',
    },
  },
} as const satisfies Parameters;

export const LOG_QUERY = {
  follow: {
    description:
      'Go on as server-sent events (log, problem, end); instances that come later join. An end with a reason is not that of the log: its agent is not connected any more or, with stopping, the control plane goes.',
    schema: { type: 'boolean', default: false },
  },
  tail: {
    description: 'Lines per instance from the end; 1000 unless since is given.',
    schema: { type: 'integer', minimum: 0, maximum: MAX_TAIL },
  },
  since: { description: 'A duration back from now, e.g. 10m.', schema: { type: 'string', ...DURATION } },
  instance: { description: 'One instance only.', schema: { type: 'string' } },
  previous: {
    description:
      'What instances printed last before they failed (200 lines, 32 KiB), kept after their containers are gone; values that a container was given are redacted.',
    schema: { type: 'boolean', default: false },
  },
  timestamps: {
    description: 'The time of each line, on the clock of its node, before it.',
    schema: { type: 'boolean', default: false },
  },
} as const satisfies Parameters;

/** How long a raised level lasts when nobody says, and at most; as durations and in milliseconds. */
export const RAISED = { usual: '10m', usualMs: 600_000, most: '1h', mostMs: 3_600_000 } as const;
/** As many lines as a control plane keeps. */
export const MAX_OWN_TAIL = 5_000;

/** Of the log of Berth itself: a control plane, or an agent. */
export const OWN_LOG_QUERY = {
  follow: {
    description: 'Go on with lines that come, for the time that `for` says.',
    schema: { type: 'boolean', default: false },
  },
  level: {
    description:
      'Lines of this level and above. Below the configured level it is raised for this reader alone, and only while it follows.',
    schema: { type: 'string', enum: LOG_LEVELS, default: 'info' },
  },
  for: {
    description: `How long it is followed, e.g. 10m; at most ${RAISED.most}.`,
    schema: { type: 'string', ...DURATION, default: RAISED.usual },
  },
  tail: {
    description: 'Lines from before, from the end; those of the configured level are kept.',
    schema: { type: 'integer', minimum: 0, maximum: MAX_OWN_TAIL, default: 100 },
  },
} as const satisfies Parameters;

export const MEMBER = {
  member: {
    description:
      'Of several control planes on one store: the name of its machine, or its id; absent: the one that answers.',
    schema: { type: 'string' },
  },
} as const satisfies Parameters;

export const JOB_LOG_QUERY = {
  run: { description: 'One run; the newest unless said.', schema: { type: 'string' } },
  attempt: {
    description: 'One attempt of the run; the newest unless said.',
    schema: { type: 'integer', minimum: 1, maximum: 99 },
  },
  follow: {
    description: 'Go on as server-sent events (log, problem, end) until the attempt ends.',
    schema: { type: 'boolean', default: false },
  },
  tail: {
    description: 'Lines from the end; 1000 unless said.',
    schema: { type: 'integer', minimum: 0, maximum: MAX_TAIL },
  },
} as const satisfies Parameters;
