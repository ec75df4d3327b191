import { describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import { type Ending, type InstanceHistory, NO_HISTORY, withFailure } from './instance-history.ts';
import { observationOf, type ObservationInput } from './observation.ts';
import type { ObservedContainer } from './observed-container.ts';

const ORDER = { id: 'ins_1', deployment: 'web', specHash: 'h2', secretsVersion: 1, attempt: 0 };

const ASSIGNED: AssignedInstance = {
  ...ORDER,
  wanted: 'run',
  container: {
    image: 'a:1',
    environment: {},
    needsSecrets: false,
    ports: [],
    labels: {},
    mounts: [],
    alias: 'web',
  },
};

const RUNNING: ObservedContainer = {
  id: 'c1',
  name: 'web',
  instanceId: 'ins_1',
  installId: 'i',
  specHash: 'h2',
  secretsVersion: 1,
  attempt: 0,
  status: 'running',
  oomKilled: false,
  restarts: 2,
  restartsItself: true,
  binds: [],
  ports: [],
};

const BACK_OFF = { baseMs: 1, capMs: 1 };
const failure = (step: 'pull' | 'start', reason: string): InstanceHistory =>
  withFailure(NO_HISTORY, { step, reason, message: 'words' }, BACK_OFF, 0);
const endings = (...some: readonly Partial<Ending>[]): InstanceHistory => ({
  endings: some.map((one) => ({ atMs: 999_000, exitCode: 1, outOfMemory: false, ...one })),
});

function seen(more: Partial<ObservationInput>): ReturnType<typeof observationOf> {
  return observationOf({
    instanceId: 'ins_1',
    assigned: ASSIGNED,
    awaited: undefined,
    containers: [],
    history: NO_HISTORY,
    activity: undefined,
    nowMs: 1_000_000,
    ...more,
  });
}

const exited = { ...RUNNING, status: 'exited' as const, exitCode: 1 };
const health = (
  status: 'starting' | 'healthy' | 'unhealthy',
  commandNotFound = false,
): ObservedContainer => ({
  ...RUNNING,
  health: { status, failingStreak: 3, lastExitCode: 127, commandNotFound },
});

const ONCE: AssignedInstance = { ...ASSIGNED, once: { timeoutMs: 2000 } };
const within = { startedAt: '2026-01-01T00:00:00.000Z', finishedAt: '2026-01-01T00:00:01.999Z' };
const beyond = { startedAt: '2026-01-01T00:00:00.000Z', finishedAt: '2026-01-01T00:00:02.001Z' };

describe('an observation', () => {
  it.each<readonly [string, Partial<ObservationInput>, object]>([
    [
      'a job that ended well',
      { assigned: ONCE, containers: [{ ...exited, exitCode: 0, ...within }] },
      { phase: 'exited', exitCode: 0 },
    ],
    [
      'a job that failed',
      { assigned: ONCE, containers: [{ ...exited, exitCode: 3, ...within }], history: endings({}, {}, {}) },
      { phase: 'exited', exitCode: 3, reason: 'container_exited' },
    ],
    [
      'a job that failed, with the line that says why',
      {
        assigned: ONCE,
        containers: [{ ...exited, exitCode: 137, ...within }],
        words: { cause: 'no such table', ranMs: 1_999 },
      },
      { message: 'the container ended with exit code 137 (SIGKILL) after 2 s: `no such table`' },
    ],
    [
      'a job that ran out of memory',
      { assigned: ONCE, containers: [{ ...exited, exitCode: 137, oomKilled: true, ...within }] },
      { reason: 'out_of_memory' },
    ],
    [
      'a job whose time was up, whatever its code',
      {
        assigned: ONCE,
        containers: [{ ...exited, exitCode: 0, ...beyond }],
        history: { ...NO_HISTORY, wasEnded: true },
      },
      { phase: 'exited', exitCode: 0, reason: 'timed_out' },
    ],
    [
      'a job that was killed for its time by an agent that is gone',
      { assigned: ONCE, containers: [{ ...exited, exitCode: 137, ...beyond }] },
      { phase: 'exited', exitCode: 137, reason: 'timed_out' },
    ],
    [
      'a job that ran and is gone',
      { assigned: { ...ONCE, once: { started: true } } },
      { phase: 'failed', reason: 'container_lost' },
    ],
    ['nothing yet', {}, { phase: 'pending' }],
    ['pulling', { activity: 'pull' }, { phase: 'pulling' }],
    ['resolving', { activity: 'resolve' }, { phase: 'creating' }],
    [
      'failed to pull',
      { history: failure('pull', 'image_pull_failed') },
      { phase: 'failed', reason: 'image_pull_failed' },
    ],
    [
      'stopped as ordered, not gone yet',
      {
        assigned: { ...ORDER, wanted: 'stop' },
        containers: [{ ...health('unhealthy'), status: 'exited', exitCode: 137 }],
      },
      { phase: 'exited', exitCode: 137 },
    ],
    [
      'ended with a code that nobody knows',
      { containers: [{ ...RUNNING, status: 'dead' }] },
      { phase: 'exited', reason: 'container_exited', message: 'the container ended' },
    ],
    ['gone as ordered', { assigned: { ...ORDER, wanted: 'stop' } }, { phase: 'removed' }],
    [
      'to be stopped while it is made',
      { assigned: { ...ORDER, wanted: 'stop' }, activity: 'create' },
      { phase: 'creating' },
    ],
    [
      'to be stopped while its image comes',
      { assigned: { ...ORDER, wanted: 'stop' }, activity: 'pull' },
      { phase: 'removed' },
    ],
    [
      'running',
      { containers: [RUNNING] },
      { phase: 'running', containerId: 'c1', specHash: 'h2', restarts: 2 },
    ],
    ['healthy', { containers: [health('healthy')] }, { phase: 'running', health: 'healthy' }],
    ['unhealthy', { containers: [health('unhealthy')] }, { health: 'unhealthy', reason: 'unhealthy' }],
    [
      'a check that never returns',
      {
        containers: [
          {
            ...RUNNING,
            health: {
              status: 'unhealthy',
              failingStreak: 3,
              lastExitCode: -1,
              timedOut: true,
              commandNotFound: false,
            },
          },
        ],
      },
      {
        reason: 'unhealthy',
        message:
          'the health check failed 3 times in a row, the last time because it did not return within its timeout',
      },
    ],
    [
      'a check that cannot run',
      { containers: [health('unhealthy', true)] },
      { reason: 'healthcheck_command_not_found' },
    ],
    ['made, not started', { containers: [{ ...RUNNING, status: 'created' }] }, { phase: 'starting' }],
    [
      'made, start failed',
      { containers: [{ ...RUNNING, status: 'created' }], history: failure('start', 'port_in_use') },
      { phase: 'failed', reason: 'port_in_use' },
    ],
    [
      'started again, of how it ended before',
      { containers: [health('starting')], history: endings({}), words: { cause: 'no such file', ranMs: 20 } },
      {
        phase: 'running',
        message:
          'in the run before, the container ended with exit code 1 after less than a second: `no such file`',
      },
    ],
    [
      'started again without a health check, for some seconds',
      { containers: [RUNNING], history: endings({ atMs: 995_000 }) },
      { phase: 'running', message: 'in the run before, the container ended with exit code 1' },
    ],
    ['ended', { containers: [exited] }, { phase: 'exited', exitCode: 1, reason: 'container_exited' }],
    [
      'ended without its command',
      { containers: [{ ...exited, exitCode: 127 }] },
      { reason: 'command_not_found' },
    ],
    ['out of memory', { containers: [{ ...exited, oomKilled: true }] }, { reason: 'out_of_memory' }],
    [
      'a loop, seen running',
      { containers: [RUNNING], history: endings({}, {}, {}) },
      { phase: 'running', reason: 'crash_loop' },
    ],
    [
      'a loop by a signal, seen running',
      { containers: [RUNNING], history: endings({}, {}, { exitCode: 139 }) },
      {
        reason: 'crash_loop',
        exitCode: 139,
        message:
          'the container ended with exit code 139 (SIGSEGV); it ended 3 times in the last five minutes',
      },
    ],
    [
      'a loop by memory',
      { containers: [RUNNING], history: endings({}, {}, { outOfMemory: true }) },
      { reason: 'out_of_memory' },
    ],
    [
      'a loop that is not over yet: its pauses grow as long as it lasted',
      {
        containers: [RUNNING],
        history: endings({ atMs: 900_000 }, { atMs: 920_000 }, { atMs: 940_000 }),
        nowMs: 1_030_000,
      },
      { phase: 'running', reason: 'crash_loop' },
    ],
    [
      'a slow loop, whatever its pace',
      {
        containers: [RUNNING],
        history: endings({ atMs: 750_000 }, { atMs: 850_000 }, { atMs: 950_000 }),
        nowMs: 1_040_000,
      },
      { phase: 'running', reason: 'crash_loop' },
    ],
    [
      'the old one runs while the new one cannot be made',
      { containers: [{ ...RUNNING, specHash: 'h1' }], history: failure('pull', 'image_pull_failed') },
      { phase: 'running', specHash: 'h1', reason: 'image_pull_failed' },
    ],
  ])('%s', (_case, sight, expected) => {
    expect(seen(sight)).toMatchObject(expected);
  });

  it('is out of a loop when it has run longer than that lasted', () => {
    const history = endings({ atMs: 900_000 }, { atMs: 920_000 }, { atMs: 940_000 });
    const told = seen({ containers: [health('healthy')], history, nowMs: 1_031_000 });
    expect(told).toMatchObject({ phase: 'running', health: 'healthy' });
    expect([told.reason, told.message, told.exitCode]).toEqual([undefined, undefined, undefined]);
  });

  it('has no trouble to tell of what stopped as ordered', () => {
    const containers = [{ ...health('unhealthy'), status: 'exited' as const, exitCode: 137 }];
    const told = seen({ assigned: { ...ORDER, wanted: 'stop' }, containers });
    expect(told.reason).toBeUndefined();
    expect(told.message).toBeUndefined();
  });

  it('of a job that ended well names no trouble, also when nobody could end it in time', () => {
    const late = seen({ assigned: ONCE, containers: [{ ...exited, exitCode: 0, ...beyond }] });
    expect(late).not.toHaveProperty('reason');
    expect(seen({ assigned: ONCE, containers: [{ ...exited, exitCode: 0, ...within }] })).not.toHaveProperty(
      'reason',
    );
  });

  it('forgets a loop that ended', () => {
    const old = endings({ atMs: 0 }, { atMs: 0 }, { atMs: 0 });
    expect(seen({ containers: [RUNNING], history: old })).not.toHaveProperty('reason');
  });
});
