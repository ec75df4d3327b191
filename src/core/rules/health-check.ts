import { isEnginePrefix } from '../model/engine-prefix.ts';
import { parseDuration } from '../model/quantity.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { shownArguments } from './environment.ts';
import type { DeploymentInput } from './rule.ts';
import { cannotFail } from './shell/status.ts';

const RETRIES_FLOOR = 3;
const TIMEOUT_FLOOR_MS = 10_000;
const MAX_DURATION_MS = 24 * 3_600_000;

function inert(shown: string, why: string): Rejection {
  return reject('healthcheck_type_inert', { field: 'healthCheck.type', received: shown, why });
}

export function healthCheckTypeRule(type: unknown): Rejection | undefined {
  if (type === undefined || type === null || type === '' || type === 'none' || type === 'NONE') {
    return inert(
      received(type ?? undefined),
      'This declaration creates no container check, yet the dependsOn and rolling-update gates would rely on it.',
    );
  }
  if (type !== 'exec') {
    return reject('healthcheck_type_unsupported', {
      field: 'healthCheck.type',
      received: received(type),
      why: 'Only exec checks run inside the container and can be gated on.',
    });
  }
  return undefined;
}

const LEAST_RESTART_MS = 1_000;

function restartAfterRule(text: string | undefined): Rejection | undefined {
  if (text === undefined || text === 'never') return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= LEAST_RESTART_MS && ms <= MAX_DURATION_MS) return undefined;
  return reject('healthcheck_duration_invalid', {
    field: 'healthCheck.restartAfter',
    received: received(text),
    expected: 'never, or a duration from 1s to 24h such as 30s, 1m30s or 10m',
    why: 'healthCheck.restartAfter is neither never nor a duration of 1s to 24h such as 30s, 1m30s or 10m.',
  });
}

function durationProblem(ms: number | undefined): string {
  if (ms === undefined) return 'not of the form of a duration; seconds alone may have a fraction';
  return ms === 0 ? '0: the check would be run without a pause' : 'longer than 24h';
}

function durationRule(field: string, text: string | undefined): Rejection | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  // A timeout of 0 is a duration below the floor, which has a code of its own.
  const isAboveZero = field === 'interval';
  if (ms !== undefined && ms <= MAX_DURATION_MS && (ms > 0 || !isAboveZero)) return undefined;
  return reject('healthcheck_duration_invalid', {
    field: `healthCheck.${field}`,
    received: received(text),
    expected: `a duration ${isAboveZero ? 'above 0 and ' : ''}of at most 24h such as 10s, 1m30s or 500ms`,
    why: `healthCheck.${field} is ${durationProblem(ms)}.`,
  });
}

export function healthCheckRule({ draft }: DeploymentInput): Rejection | undefined {
  const check = draft.healthCheck;
  if (check === undefined) return undefined;
  const type = healthCheckTypeRule(check.type);
  if (type) return type;
  const command = check.command ?? [];
  if (command.every((word) => word.trim() === '' || isEnginePrefix(word))) {
    return reject('healthcheck_command_missing', {
      field: 'healthCheck.command',
      received: received(check.command),
      why: 'An exec check needs the command to run inside the container.',
    });
  }
  // Docker's keyword for "no check"; the others are commands whose last status is always zero.
  if ((command.length === 1 && command[0]?.trim() === 'NONE') || cannotFail(command)) {
    return inert(
      shownArguments(command),
      'The command cannot fail, so it checks nothing, yet the dependsOn and rolling-update gates would rely on it.',
    );
  }
  if (check.retries !== undefined && check.retries < RETRIES_FLOOR) {
    return reject('healthcheck_retries_below_floor', {
      field: 'healthCheck.retries',
      received: received(check.retries),
      why: `retries is the only damper before one unhealthy container degrades the whole deployment; the floor is ${RETRIES_FLOOR}.`,
    });
  }
  for (const field of ['timeout', 'interval', 'startPeriod'] as const) {
    const rejection = durationRule(field, check[field]);
    if (rejection) return rejection;
  }
  const restart = restartAfterRule(check.restartAfter);
  if (restart) return restart;
  if (check.timeout !== undefined && (parseDuration(check.timeout) ?? 0) < TIMEOUT_FLOOR_MS) {
    return reject('healthcheck_timeout_below_floor', {
      field: 'healthCheck.timeout',
      received: received(check.timeout),
      why: 'A check that times out is killed with SIGKILL; below 10s a busy machine is taken for a broken one.',
    });
  }
  return undefined;
}
