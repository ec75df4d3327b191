import { describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../core/contract/agent-protocol.ts';
import { type Ending, type InstanceMemory, NO_MEMORY, withFailure } from './memory.ts';
import { observationOf, type Sight } from './observation.ts';
import type { ObservedContainer } from './observed-container.ts';

const ASSIGNED: AssignedInstance = {
  id: 'ins_1',
  deployment: 'web',
  wanted: 'run',
  specHash: 'h2',
  secretsVersion: 1,
  attempt: 0,
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
  ports: [],
};

const BACK_OFF = { baseMs: 1, capMs: 1 };
const failure = (step: 'pull' | 'start', reason: string): InstanceMemory =>
  withFailure(NO_MEMORY, { step, reason, message: 'words' }, BACK_OFF, 0);
const endings = (...some: readonly Partial<Ending>[]): InstanceMemory => ({
  endings: some.map((one) => ({ atMs: 900_000, exitCode: 1, outOfMemory: false, ...one })),
});

function seen(more: Partial<Sight>): ReturnType<typeof observationOf> {
  return observationOf({
    instanceId: 'ins_1',
    assigned: ASSIGNED,
    containers: [],
    memory: NO_MEMORY,
    activity: undefined,
    nowMs: 1_000_000,
    ...more,
  });
}

const exited = { ...RUNNING, status: 'exited' as const, exitCode: 1 };
const health = (status: 'healthy' | 'unhealthy', commandNotFound = false): ObservedContainer => ({
  ...RUNNING,
  health: { status, failingStreak: 3, lastExitCode: 127, commandNotFound },
});

describe('an observation', () => {
  it.each<readonly [string, Partial<Sight>, object]>([
    ['nothing yet', {}, { phase: 'pending' }],
    ['pulling', { activity: 'pull' }, { phase: 'pulling' }],
    ['resolving', { activity: 'resolve' }, { phase: 'creating' }],
    [
      'failed to pull',
      { memory: failure('pull', 'image_pull_failed') },
      { phase: 'failed', reason: 'image_pull_failed' },
    ],
    ['gone as ordered', { assigned: { ...ASSIGNED, wanted: 'stop' } }, { phase: 'removed' }],
    [
      'running',
      { containers: [RUNNING] },
      { phase: 'running', containerId: 'c1', specHash: 'h2', restarts: 2 },
    ],
    ['healthy', { containers: [health('healthy')] }, { phase: 'running', health: 'healthy' }],
    ['unhealthy', { containers: [health('unhealthy')] }, { health: 'unhealthy', reason: 'unhealthy' }],
    [
      'a check that cannot run',
      { containers: [health('unhealthy', true)] },
      { reason: 'healthcheck_command_not_found' },
    ],
    ['made, not started', { containers: [{ ...RUNNING, status: 'created' }] }, { phase: 'starting' }],
    [
      'made, start failed',
      { containers: [{ ...RUNNING, status: 'created' }], memory: failure('start', 'port_in_use') },
      { phase: 'failed', reason: 'port_in_use' },
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
      { containers: [RUNNING], memory: endings({}, {}, {}) },
      { phase: 'running', reason: 'crash_loop' },
    ],
    [
      'a loop by memory',
      { containers: [RUNNING], memory: endings({}, {}, { outOfMemory: true }) },
      { reason: 'out_of_memory' },
    ],
    [
      'the old one runs while the new one cannot be made',
      { containers: [{ ...RUNNING, specHash: 'h1' }], memory: failure('pull', 'image_pull_failed') },
      { phase: 'running', specHash: 'h1', reason: 'image_pull_failed' },
    ],
  ])('%s', (_case, sight, expected) => {
    expect(seen(sight)).toMatchObject(expected);
  });

  it('forgets a loop that ended', () => {
    const old = endings({ atMs: 0 }, { atMs: 0 }, { atMs: 0 });
    expect(seen({ containers: [RUNNING], memory: old })).not.toHaveProperty('reason');
  });
});
