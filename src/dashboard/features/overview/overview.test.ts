import { describe, expect, it } from 'vitest';
import type { Deployment, Job, Node, Volume } from '../../lib/records.ts';
import { activityOf } from './activity.ts';
import { problemsOf, type Standing } from './problems.ts';
import { firstSteps, isNew } from './steps.ts';

const NOTHING: Standing = {
  deployments: [],
  nodes: [],
  jobs: [],
  volumes: [],
  webhooks: [],
  recommendations: [],
};

const deployment = (name: string, phase: string, more: object = {}): Deployment =>
  JSON.parse(JSON.stringify({ name, status: { phase, message: phase, ...more } }));
const node = (name: string, more: object = {}): Node =>
  JSON.parse(
    JSON.stringify({
      name,
      status: 'ready',
      lastSeenAt: null,
      schedulable: true,
      conditions: [],
      engine: { kind: 'docker', version: '27' },
      ...more,
    }),
  );
const job = (name: string, state: string, message = ''): Job =>
  JSON.parse(JSON.stringify({ name, status: { runs: [{ state, message }] } }));
const volume = (name: string, more: object): Volume =>
  JSON.parse(JSON.stringify({ id: name, name, phase: 'Ready', wantedReplicas: 0, replicas: [], ...more }));
const keys = (standing: Partial<Standing>) =>
  problemsOf({ ...NOTHING, ...standing }).map(({ key, what }) => `${key}: ${what}`);

describe('what is wrong', () => {
  it('comes worst first, and nothing that is well', () =>
    expect(
      keys({
        deployments: [
          deployment('a', 'Running'),
          deployment('b', 'Pending'),
          deployment('c', 'Degraded', { healthy: 1, desired: 3 }),
          deployment('d', 'Running', { rollout: { failed: { version: 2, message: 'x' } } }),
          deployment('e', 'Progressing', { rollout: { state: 'failed' } }),
        ],
        nodes: [node('n1', { status: 'failed' }), node('n2')],
      }),
    ).toEqual([
      'node/n1: Never heard',
      'deployment/c: 1 of 3 healthy',
      'deployment/e: Update failed',
      'deployment/b: Pending',
      'deployment/d: Update failed',
    ]));

  it('is found in jobs, conditions of nodes, volumes and webhooks', () =>
    expect(
      keys({
        nodes: [node('n1', { conditions: [{ kind: 'disk', message: 'disk is 96 % full' }] })],
        jobs: [job('good', 'Succeeded'), job('bad', 'Failed'), job('again', 'Retrying')],
        volumes: [
          volume('v1', {}),
          volume('v2', { phase: 'Degraded' }),
          volume('v3', { wantedReplicas: 1, replicas: [{ nodeId: 'n1', state: 'syncing' }] }),
        ],
        webhooks: JSON.parse(
          '[{"name":"w1","status":{"state":"active","deadLetters":0}},{"name":"w2","status":{"state":"active","deadLetters":2}}]',
        ),
      }),
    ).toEqual([
      'job/bad: Job failed',
      'volume/v2: Volume degraded',
      'webhook/w2: Webhook failed',
      'node/n1/disk: Disk is short',
      'job/again: Job is retried',
      'volume/v3: Volume at risk',
    ]));

  it('of a deployment without a place leads to the explanation', () =>
    expect(problemsOf({ ...NOTHING, deployments: [deployment('b', 'Pending')] })[0]?.to).toBe(
      '/deployments/b/explain',
    ));
});

describe('first steps', () => {
  const done = (standing: Partial<Standing>) =>
    firstSteps({ ...NOTHING, ...standing }).map(({ isDone }) => isDone);
  const web = deployment('web', 'Running', { desired: 2, healthy: 2 });
  it('are ticked off by what there is', () => {
    expect(done({})).toEqual([false, false, false]);
    expect(done({ nodes: [node('n1', { status: 'failed' })] })).toEqual([false, false, false]);
    expect(done({ nodes: [node('n1')] })).toEqual([true, false, false]);
    expect(
      done({ nodes: [node('n1')], deployments: [deployment('web', 'Pending', { desired: 1, healthy: 0 })] }),
    ).toEqual([true, true, false]);
    expect(done({ nodes: [node('n1')], deployments: [web] })).toEqual([true, true, true]);
    expect(done({ nodes: [node('n1')], jobs: [job('report', 'Succeeded')] })).toEqual([true, true, true]);
  });
  it('are for who has no node, or nothing on one', () => {
    expect([isNew(NOTHING), isNew({ ...NOTHING, nodes: [node('n1')] })]).toEqual([true, true]);
    expect(isNew({ ...NOTHING, nodes: [node('n1')], jobs: [job('report', 'Succeeded')] })).toBe(false);
  });
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
