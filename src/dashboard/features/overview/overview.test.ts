import { describe, expect, it } from 'vitest';
import type { Deployment, Node } from '../../lib/records.ts';
import { activityOf } from './activity.ts';
import { problemsOf } from './problems.ts';

const deployment = (name: string, phase: string) =>
  ({ name, status: { phase, message: phase } }) as Deployment;

describe('what is wrong', () => {
  it('comes worst first, and nothing that is well', () => {
    const node = { name: 'n1', status: 'failed', lastSeenAt: null, schedulable: true } as Node;
    const found = problemsOf(
      [deployment('a', 'Running'), deployment('b', 'Pending'), deployment('c', 'Degraded')],
      [node, { ...node, name: 'n2', status: 'ready' }],
      [],
    );
    expect(found.map(({ key }) => key)).toEqual(['node/n1', 'deployment/c', 'deployment/b']);
  });
  it('of a deployment without a place leads to the explanation', () =>
    expect(problemsOf([deployment('b', 'Pending')], [], [])[0]?.to).toBe('/deployments/b/explain'));
});

describe('activity', () => {
  const now = Date.parse('2026-01-31T12:30:00Z');
  it('is counted by hour, failures apart', () => {
    const { times, changes, failures } = activityOf(
      [
        { at: '2026-01-31T12:01:00Z', kind: 'deployment.created' },
        { at: '2026-01-31T12:02:00Z', kind: 'instance.failed' },
        { at: '2026-01-30T13:00:00Z', kind: 'node.ready' },
        { at: '2026-01-29T13:00:00Z', kind: 'node.ready' },
      ],
      now,
    );
    expect(times).toHaveLength(24);
    expect([changes.at(-1), failures.at(-1), changes[0]]).toEqual([1, 1, 1]);
    expect(changes.reduce((sum, value) => sum + value, 0)).toBe(2);
  });
});
