import { describe, expect, it } from 'vitest';
import { engineEvent } from './engine-event.ts';

const ID = 'ab'.repeat(32);

function event(
  Action: string,
  attributes: Readonly<Record<string, string>> = {},
  more: object = {},
): unknown {
  return {
    Type: 'container',
    Action,
    Actor: { ID, Attributes: { name: 'web', image: 'web:1', 'berth.io/id': 'dep_1', ...attributes } },
    time: 1_794_707_647,
    timeNano: 1_794_707_647_500_000_000,
    ...more,
  };
}

describe('engine event', () => {
  it.each([
    ['create', 'create'],
    ['start', 'start'],
    ['die', 'die'],
    ['died', 'die'],
    ['oom', 'oom'],
    ['destroy', 'destroy'],
    ['remove', 'destroy'],
    ['restart', 'restart'],
    ['health_status: healthy', 'health_status'],
  ])('%s is %s', (word, kind) => {
    expect(engineEvent(event(word))).toMatchObject({
      kind,
      containerId: ID,
      name: 'web',
      labels: { 'berth.io/id': 'dep_1' },
    });
  });

  it('leaves out what concerns nobody, above all commands', () => {
    for (const word of [
      'exec_create: sh -c secret',
      'exec_start: sh',
      'exec',
      'init',
      'cleanup',
      'attach',
      'top',
      'constructor',
      '',
    ]) {
      expect(engineEvent(event(word))).toBeUndefined();
    }
    expect(engineEvent({ ...(event('create') as object), Type: 'network' })).toBeUndefined();
    expect(engineEvent(null)).toBeUndefined();
  });

  it('carries exit code, health and time', () => {
    expect(engineEvent(event('die', { exitCode: '137' }))).toEqual({
      kind: 'die',
      containerId: ID,
      name: 'web',
      labels: { 'berth.io/id': 'dep_1' },
      atMs: 1_794_707_647_500,
      exitCode: 137,
    });
    expect(engineEvent(event('died', { containerExitCode: '3' }))).toMatchObject({ exitCode: 3 });
    expect(engineEvent(event('health_status: unhealthy'))).toMatchObject({ health: 'unhealthy' });
    expect(engineEvent(event('health_status', {}, { HealthStatus: 'healthy' }))).toMatchObject({
      health: 'healthy',
    });
    expect(engineEvent(event('start', {}, { timeNano: undefined }))).toMatchObject({
      atMs: 1_794_707_647_000,
    });
  });
});
