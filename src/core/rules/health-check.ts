import { parseDuration } from '../model/quantity.ts';
import { received } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import type { DeploymentInput } from './rule.ts';

const RETRIES_FLOOR = 3;
const TIMEOUT_FLOOR_MS = 10_000;
const MAX_DURATION_MS = 24 * 3_600_000;

const NO_OP = new Set([
  'true',
  ':',
  'exit 0',
  'exit',
  '/bin/true',
  '/usr/bin/true',
  'NONE',
  'test 1',
  '[ 1 ]',
]);
const SHELLS = new Set([
  'sh',
  'bash',
  'ash',
  'dash',
  '/bin/sh',
  '/bin/bash',
  '/bin/ash',
  '/bin/dash',
  '/usr/bin/sh',
]);
const SWALLOWED = /(?:\|\||;)\s*(?:true|:|exit 0|\/bin\/true)$/;

/** A command that cannot fail would satisfy the dependsOn and rollout gates falsely (spec 2.3). */
export function cannotFail(command: readonly string[]): boolean {
  const [first, ...rest] = command;
  if (first === undefined) return false;
  if (SHELLS.has(first) && rest[0]?.endsWith('c') === true && rest.length === 2)
    return cannotFail(rest.slice(1));
  const text = (rest.length === 0 ? first : command.join(' ')).trim().replace(/[;\s]+$/, '');
  if (NO_OP.has(text)) return true;
  if (first === 'true' || first === ':' || first === '/bin/true' || first === '/usr/bin/true') return true;
  return rest.length === 0 && text.length < 4096 && SWALLOWED.test(text);
}

function inert(value: unknown, why: string): Rejection {
  return reject('healthcheck_type_inert', { field: 'healthCheck.type', received: received(value), why });
}

function typeRule(type: unknown): Rejection | undefined {
  if (type === undefined || type === null || type === '' || type === 'none' || type === 'NONE') {
    return inert(
      type ?? undefined,
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

function durationRule(field: string, text: string | undefined): Rejection | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  if (ms !== undefined && ms <= MAX_DURATION_MS && (ms > 0 || field === 'startPeriod')) return undefined;
  return reject('healthcheck_duration_invalid', {
    field: `healthCheck.${field}`,
    received: received(text),
    why: `healthCheck.${field} is not a duration of at most 24h such as 10s, 1m30s or 500ms.`,
  });
}

export function healthCheckRule({ draft }: DeploymentInput): Rejection | undefined {
  const check = draft.healthCheck;
  if (check === undefined) return undefined;
  const type = typeRule(check.type);
  if (type) return type;
  const command = check.command ?? [];
  if (command.length === 0 || command.every((word) => word.trim() === '')) {
    return reject('healthcheck_command_missing', {
      field: 'healthCheck.command',
      received: received(check.command),
      why: 'An exec check needs the command to run inside the container.',
    });
  }
  if (cannotFail(command)) {
    return inert(
      command,
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
  if (check.timeout !== undefined && (parseDuration(check.timeout) ?? 0) < TIMEOUT_FLOOR_MS) {
    return reject('healthcheck_timeout_below_floor', {
      field: 'healthCheck.timeout',
      received: received(check.timeout),
      why: 'A check that times out is killed with SIGKILL; below 10s a busy machine is taken for a broken one.',
    });
  }
  return undefined;
}
