import { describe, expect, it } from 'vitest';
import type { DeploymentDraft } from '../contract/deployment-body.ts';
import { healthCheckRule } from './health-check.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

type Check = NonNullable<DeploymentDraft['healthCheck']>;

const GOOD: Check = { type: 'exec', command: ['wget -qO- localhost:8080/ok'] };

function refuse(check: Check | undefined) {
  const draft: DeploymentDraft = check === undefined ? {} : { healthCheck: check };
  const rejection = healthCheckRule({ draft, limits });
  return rejection && [rejection.code, rejection.field];
}

describe('accepted', () => {
  it.each<Check>([
    GOOD,
    { ...GOOD, command: ['/bin/check', '--fast'] },
    { ...GOOD, retries: 3 },
    { ...GOOD, timeout: '10s' },
    { ...GOOD, timeout: '10000ms' },
    { ...GOOD, timeout: '24h' },
    { ...GOOD, interval: '1ms', startPeriod: '0s' },
  ])('%j', (check) => {
    expect(refuse(check)).toBeUndefined();
  });

  it('no health check at all', () => {
    expect(refuse(undefined)).toBeUndefined();
  });
});

describe('refused', () => {
  it.each<readonly [Check, string, string]>([
    [{ command: ['x'] }, 'healthcheck_type_inert', 'healthCheck.type'],
    [{ ...GOOD, type: '' }, 'healthcheck_type_inert', 'healthCheck.type'],
    [{ ...GOOD, type: null }, 'healthcheck_type_inert', 'healthCheck.type'],
    [{ ...GOOD, type: 'none' }, 'healthcheck_type_inert', 'healthCheck.type'],
    [{ ...GOOD, type: 'http' }, 'healthcheck_type_unsupported', 'healthCheck.type'],
    [{ ...GOOD, type: 'EXEC' }, 'healthcheck_type_unsupported', 'healthCheck.type'],
    [{ ...GOOD, type: 1 }, 'healthcheck_type_unsupported', 'healthCheck.type'],
    [{ ...GOOD, type: ['exec'] }, 'healthcheck_type_unsupported', 'healthCheck.type'],
    [{ type: 'exec' }, 'healthcheck_command_missing', 'healthCheck.command'],
    [{ type: 'exec', command: [] }, 'healthcheck_command_missing', 'healthCheck.command'],
    [{ type: 'exec', command: [' ', ''] }, 'healthcheck_command_missing', 'healthCheck.command'],
    [{ type: 'exec', command: ['CMD'] }, 'healthcheck_command_missing', 'healthCheck.command'],
    [{ type: 'exec', command: ['CMD-SHELL', 'CMD'] }, 'healthcheck_command_missing', 'healthCheck.command'],
    [{ type: 'exec', command: ['NONE'] }, 'healthcheck_type_inert', 'healthCheck.type'],
    [{ ...GOOD, retries: 2 }, 'healthcheck_retries_below_floor', 'healthCheck.retries'],
    [{ ...GOOD, retries: -1 }, 'healthcheck_retries_below_floor', 'healthCheck.retries'],
    [{ ...GOOD, timeout: '9999ms' }, 'healthcheck_timeout_below_floor', 'healthCheck.timeout'],
    [{ ...GOOD, timeout: '0s' }, 'healthcheck_timeout_below_floor', 'healthCheck.timeout'],
    [{ ...GOOD, timeout: '10' }, 'healthcheck_duration_invalid', 'healthCheck.timeout'],
    [{ ...GOOD, timeout: '' }, 'healthcheck_duration_invalid', 'healthCheck.timeout'],
    [{ ...GOOD, timeout: '-10s' }, 'healthcheck_duration_invalid', 'healthCheck.timeout'],
    [{ ...GOOD, timeout: '86401s' }, 'healthcheck_duration_invalid', 'healthCheck.timeout'],
    [{ ...GOOD, interval: '0s' }, 'healthcheck_duration_invalid', 'healthCheck.interval'],
    [{ ...GOOD, startPeriod: 'soon' }, 'healthcheck_duration_invalid', 'healthCheck.startPeriod'],
    [{ ...GOOD, restartAfter: '500ms' }, 'healthcheck_duration_invalid', 'healthCheck.restartAfter'],
    [{ ...GOOD, restartAfter: '25h' }, 'healthcheck_duration_invalid', 'healthCheck.restartAfter'],
    [{ ...GOOD, restartAfter: 'Never' }, 'healthcheck_duration_invalid', 'healthCheck.restartAfter'],
  ])('%j is %s', (check, code, field) => {
    expect(refuse(check)).toEqual([code, field]);
  });

  it.each<readonly [Check, string, string]>([
    [{ interval: '0s' }, 'a duration above 0 and of at most 24h', 'without a pause'],
    [{ interval: '1.5ms' }, 'a duration above 0 and of at most 24h', 'seconds alone may have a fraction'],
    [{ startPeriod: '25h' }, 'a duration of at most 24h', 'longer than 24h'],
    [{ restartAfter: '500ms' }, 'never, or a duration from 1s to 24h', 'neither never nor'],
  ])('says what is wrong with %j', (check, expected, why) => {
    const rejection = healthCheckRule({ draft: { healthCheck: { ...GOOD, ...check } }, limits });
    expect(rejection?.expected).toContain(expected);
    expect(rejection?.why).toContain(why);
  });

  it('type before command before retries before durations', () => {
    expect(refuse({ type: 'http', retries: 1, timeout: '1s' })?.[0]).toBe('healthcheck_type_unsupported');
    expect(refuse({ type: 'exec', retries: 1, timeout: '1s' })?.[0]).toBe('healthcheck_command_missing');
    expect(refuse({ ...GOOD, retries: 1, timeout: '1s' })?.[0]).toBe('healthcheck_retries_below_floor');
    expect(refuse({ ...GOOD, timeout: '1s', interval: 'x' })?.[1]).toBe('healthCheck.interval');
  });
});

describe('a command that cannot fail', () => {
  it.each([[['true']], [['x || true']], [['x | cat']], [['sh', '-c', 'x; exit 0']], [[' NONE ']]])(
    '%j is no check',
    (command) => {
      expect(refuse({ ...GOOD, command })).toEqual(['healthcheck_type_inert', 'healthCheck.type']);
    },
  );

  it('is shown, unless a credential is in it', () => {
    const shown = (command: string) =>
      healthCheckRule({ draft: { healthCheck: { ...GOOD, command: [command] } }, limits })?.received;
    expect(shown('pg_isready || true')).toBe('["pg_isready || true"]');
    const bearer = `curl -H 'Authorization: Bearer hunter2-Zq81xPw0' db || true`;
    expect(shown(bearer)).toMatch(/^\(redacted, array, /);
  });

  it.each([[['x || exit 1']], [['sleep 3600']], [['test', '-f', '/ready']]])('but %j is one', (command) => {
    expect(refuse({ ...GOOD, command })).toBeUndefined();
  });
});
