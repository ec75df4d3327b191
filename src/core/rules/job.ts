import type { JobDraft } from '../contract/job-body.ts';
import type { Workload } from '../model/deployment.ts';
import { type BeforeCommand, JOB_RETRIES_MAX } from '../model/job.ts';
import { parseDuration } from '../model/quantity.ts';
import type { ParseSchedule } from '../model/schedule.ts';
import { jsonLength } from '../model/text-bytes.ts';
import { isIntegerWithin } from '../model/values.ts';
import { received, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { networksRule } from './attachment.ts';
import { networksFactRule } from './attachment-facts.ts';
import { capabilitiesRule, userRule } from './confinement.ts';
import { workloadSecretRules } from './deployment.ts';
import { type DeploymentFacts, notACandidate, volumesRule } from './deployment-facts.ts';
import { commandArgumentsRule, composedLiteralsRule, environmentRule, wordsRule } from './environment.ts';
import { filesRule } from './files.ts';
import { imageRule } from './image.ts';
import { nameRule } from './name.ts';
import { placementRules } from './placement.ts';
import { type DeploymentInput, isJudged, type Judged, type Limits, reading, type Rule } from './rule.ts';
import { stopRule } from './stop.ts';
import { sizesRule } from './sizes.ts';
import { volumeMountsRule } from './volumes.ts';
import { commandRule } from './command.ts';
import { resourcesRule } from './resources.ts';

export interface JobInput {
  readonly draft: JobDraft;
  readonly limits: Limits;
  /** Of an update: what of it every workload may have; absent: all of it. */
  readonly judged?: Judged | undefined;
  readonly parseSchedule: ParseSchedule;
  readonly nowMs: number;
}

const TIMEOUT = { minMs: 1_000, maxMs: 720 * 3_600_000 } as const;

function invalid(field: string, value: unknown, expected: string, why: string): Rejection {
  return reject('job_invalid', { field, received: received(value), expected, why });
}

const SCHEDULE_FORM = 'a cron expression of five fields such as "0 3 * * *", or six with seconds first (UTC)';

const scheduleRule: Rule<JobInput> = ({ draft: { schedule }, parseSchedule, nowMs }) => {
  if (schedule === undefined) return undefined;
  if (typeof schedule !== 'string')
    return invalid('schedule', schedule, SCHEDULE_FORM, 'A schedule is a text.');
  const parsed = parseSchedule(schedule);
  if ('problem' in parsed)
    return invalid('schedule', schedule, SCHEDULE_FORM, `The schedule cannot be read: ${parsed.problem}.`);
  if (parsed.nextAfter(nowMs) !== undefined) return undefined;
  return invalid('schedule', schedule, SCHEDULE_FORM, 'No moment ever fits this schedule.');
};

const timeoutRule: Rule<JobInput> = ({ draft: { timeout } }) => {
  if (timeout === undefined) return undefined;
  const ms = typeof timeout === 'string' ? parseDuration(timeout) : undefined;
  if (ms !== undefined && ms >= TIMEOUT.minMs && ms <= TIMEOUT.maxMs) return undefined;
  return invalid(
    'timeout',
    timeout,
    'a duration from 1s to 720h, e.g. 30m',
    'The timeout is not a duration in range.',
  );
};

const BEFORE_TIMEOUT_MS = { min: 1_000, max: 3_600_000 } as const;
/** It is sent whole to an agent, and read at each run. */
const BEFORE_BYTES_MAX = 16 * 1024;

/** Form only; whether the deployment exists is a fact. */
const beforeRule: Rule<JobInput> = (input) => {
  const { before } = input.draft;
  if (before === undefined) return undefined;
  const { deployment = '', command = [], timeout } = before;
  if (deployment === '')
    return invalid(
      'before.deployment',
      before.deployment,
      'the name of a deployment of this tenant',
      'Nothing says in which deployment the command is run.',
    );
  if (command.length === 0 || command[0] === '' || jsonLength(command) > BEFORE_BYTES_MAX)
    return reject('job_invalid', {
      field: 'before.command',
      received: redacted(command),
      expected: `at least one element, the first being the program, and at most ${BEFORE_BYTES_MAX} bytes as JSON`,
      why: 'The command is empty or too long.',
    });
  const ms = timeout === undefined ? BEFORE_TIMEOUT_MS.max : parseDuration(timeout);
  if (ms === undefined || ms < BEFORE_TIMEOUT_MS.min || ms > BEFORE_TIMEOUT_MS.max)
    return invalid(
      'before.timeout',
      timeout,
      'a duration from 1s to 1h, e.g. 10m',
      'The timeout is not a duration in range.',
    );
  return wordsRule('before.command', command, input);
};

const retriesRule: Rule<JobInput> = ({ draft: { retries } }) => {
  if (retries === undefined) return undefined;
  if (isIntegerWithin(retries, 0, JOB_RETRIES_MAX)) return undefined;
  return invalid(
    'retries',
    retries,
    `an integer from 0 to ${JOB_RETRIES_MAX}`,
    'retries counts the attempts after the first.',
  );
};

/** What a job shares with a deployment is judged by the same rules, with the same codes, in the same order. */
function shared(rules: readonly Rule<DeploymentInput>[]): readonly Rule<JobInput>[] {
  return rules.map((rule) => (input) => rule(input));
}

export const jobRules: readonly Rule<JobInput>[] = [
  ...shared([
    reading(['name'], ({ draft, limits }) => nameRule(draft.name, limits.reservedNames)),
    reading(['image'], imageRule),
    sizesRule,
    reading(['command'], commandRule),
    reading(['user'], userRule),
    reading(['capabilities'], capabilitiesRule),
    reading(['stop'], stopRule),
    reading(['command'], commandArgumentsRule),
    reading(['environment'], environmentRule),
    reading(['files', 'volumes'], filesRule),
    ...workloadSecretRules,
    reading(['composedEnvironment'], composedLiteralsRule),
    reading(['volumes'], volumeMountsRule),
    ...placementRules,
    reading(['resources'], resourcesRule),
    reading(['networks'], networksRule),
  ]),
  scheduleRule,
  timeoutRule,
  retriesRule,
  beforeRule,
];

export interface JobFacts extends DeploymentFacts {
  /** Names of the tenant's nodes whose agent is reachable. */
  readonly reachable: () => readonly string[];
}

/** A job runs on the node that it names or not at all. */
function nodeRule({ nodeId }: Workload, facts: JobFacts, judged?: Judged): Rejection | undefined {
  if (nodeId === undefined || !isJudged(judged, ['nodeId'])) return undefined;
  if (facts.nodes().length > 0 && facts.closedToTenant(nodeId)) return notACandidate(nodeId, facts);
  const reachable = facts.reachable();
  if (reachable.length === 0) {
    return reject('job_node_candidates_unresolvable', {
      field: 'nodeId',
      received: received(nodeId),
      why: 'No node of this tenant has a reachable agent.',
    });
  }
  if (facts.node(nodeId) !== undefined) return undefined;
  return reject('job_node_not_found', {
    field: 'nodeId',
    received: received(nodeId),
    expected: `one of this tenant's nodes (${reachable.slice(0, 20).join(', ')}), or omit nodeId`,
    why: 'The tenant has no node of this name.',
  });
}

/** A command in a deployment that does not exist would fail every run. */
function beforeFactRule(before: BeforeCommand | undefined, facts: JobFacts): Rejection | undefined {
  if (before === undefined || facts.deployment(before.deployment) !== undefined) return undefined;
  return reject('job_before_deployment_not_found', {
    field: 'before.deployment',
    received: received(before.deployment),
    why: 'The tenant has no deployment of this name, so there is no instance to run the command in.',
  });
}

/**
 * `workload` is the job as a deployment would run it; `before` the command before it, absent where it is stored already: its deployment may
 * be gone for a while.
 */
export function jobFactsRejection(
  workload: Workload,
  facts: JobFacts,
  judged?: Judged,
  before?: BeforeCommand,
): Rejection | undefined {
  return (
    volumesRule(workload, facts, judged) ??
    nodeRule(workload, facts, judged) ??
    networksFactRule(workload, facts, judged) ??
    beforeFactRule(before, facts)
  );
}
