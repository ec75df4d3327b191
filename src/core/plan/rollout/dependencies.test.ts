import { describe, expect, it } from 'vitest';
import type { DependencyGate } from '../../model/deployment.ts';
import { closedGates, type DependencyFacts } from './dependencies.ts';

const DB: DependencyFacts = { hasHealthCheck: true, desired: 2, running: 2, healthy: 1 };
const SINCE = { phase: 'Degraded', since: '2026-01-01T00:00:00.000Z' } as const;

describe('dependency gates', () => {
  it.each<readonly [string, DependencyGate, DependencyFacts | undefined, string | undefined]>([
    ['one healthy instance', 'healthy', DB, undefined],
    ['one running instance', 'started', { ...DB, running: 1, healthy: 0 }, undefined],
    ['no deployment', 'started', undefined, 'no such deployment yet'],
    [
      'a stopped deployment',
      'healthy',
      { ...DB, desired: 0, running: 0, healthy: 0 },
      'stopped: its replicas is 0',
    ],
    ['nothing running', 'started', { ...DB, running: 0, healthy: 0 }, 'not started: 0 of 2 running'],
    [
      'nothing running, health asked for',
      'healthy',
      { ...DB, running: 0, healthy: 0 },
      'not running: 0 of 2 running',
    ],
    [
      'nothing healthy',
      'healthy',
      { ...DB, healthy: 0, status: SINCE },
      'unhealthy, Degraded since 2026-01-01T00:00:00.000Z: 2 of 2 running, 0 healthy',
    ],
    [
      'no health check',
      'healthy',
      { ...DB, hasHealthCheck: false, healthy: 2 },
      'it has no health check, so nothing can say that it is healthy',
    ],
  ])('%s', (_what, gate, facts, why) => {
    const expected = why === undefined ? [] : [{ dependency: 'db', message: `waiting for db (${why})` }];
    expect(closedGates({ db: gate }, () => facts)).toEqual(expected);
  });

  it('tells every closed gate', () => {
    expect(
      closedGates({ a: 'started', b: 'healthy' }, () => undefined).map((gate) => gate.dependency),
    ).toEqual(['a', 'b']);
    expect(closedGates(undefined, () => undefined)).toEqual([]);
  });
});
