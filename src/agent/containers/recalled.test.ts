import { describe, expect, it } from 'vitest';
import type { AssignedContainer, AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import { NO_HISTORY } from './instance-history.ts';
import type { ObservedContainer } from './observed-container.ts';
import { planRecalled, type RecalledView } from './recalled.ts';

const BASE = { id: 'a', deployment: 'web', specHash: 'h', secretsVersion: 0, attempt: 0 } as const;
const CONTAINER: AssignedContainer = {
  image: 'i:1',
  environment: {},
  needsSecrets: true,
  ports: [],
  labels: {},
  mounts: [],
  alias: 'web',
};
const mounts = (kind: 'volume' | 'bind') => [{ kind, volumeId: 'v', target: '/v', readOnly: false }];

type Run = Extract<AssignedInstance, { readonly wanted: 'run' }>;
const run = (container: Partial<AssignedContainer> = {}, more: Partial<Run> = {}): AssignedInstance => ({
  ...BASE,
  wanted: 'run',
  container: { ...CONTAINER, ...container },
  ...more,
});
const STOP: AssignedInstance = { ...BASE, wanted: 'stop' };

const seen = (
  status: ObservedContainer['status'],
  more: Partial<ObservedContainer> = {},
): ObservedContainer => ({
  id: 'c',
  name: 'web',
  instanceId: 'a',
  installId: 'own',
  specHash: 'h',
  secretsVersion: 0,
  attempt: 0,
  status,
  oomKilled: false,
  restarts: 0,
  restartsItself: true,
  binds: [],
  ports: [],
  ...more,
});

function view(containers: readonly ObservedContainer[], change: Partial<RecalledView> = {}): RecalledView {
  return {
    nowMs: 10_000,
    fromMs: 0,
    engineKind: 'docker',
    installId: 'own',
    containers: new Map([['a', containers]]),
    history: new Map([['a', NO_HISTORY]]),
    volume: () => ({ kind: 'ready', source: '/v' }),
    areRecalled: true,
    ...change,
  };
}

const WAITS: Partial<RecalledView> = {
  volume: () => ({ kind: 'waits', reason: 'volume_not_ready', message: 'waits for its lease' }),
};
const ENDED = { atMs: 9_950, exitCode: 1, outOfMemory: false };

describe('by the last orders, without a control plane', () => {
  const healthCheck = { command: ['true'] };
  it.each<[string, AssignedInstance, readonly ObservedContainer[], string, Partial<RecalledView>?]>([
    ['what ran and is down is started', run(), [seen('exited')], 'start'],
    ['with its volume', run({ mounts: mounts('volume') }), [seen('exited')], 'start'],
    ['not before its volume', run({ mounts: mounts('volume') }), [seen('exited')], 'volume_not_ready', WAITS],
    ['not before a session may have come', run(), [seen('exited')], 'later', { fromMs: 10_001 }],
    [
      'not faster than the engine would',
      run(),
      [seen('exited')],
      'later',
      { history: new Map([['a', { endings: [ENDED] }]]) },
    ],
    ['nothing is made', run(), [], 'container_absent'],
    ['nothing is made of another spec', run(), [seen('exited', { specHash: 'h0' })], 'container_absent'],
    ['others’ are left alone', run(), [seen('exited', { installId: 'other' })], 'container_absent'],
    ['what never started waits', run(), [seen('created')], 'container_not_started'],
    ['what the engine cannot start waits', run(), [seen('dead')], 'container_dead'],
    ['a job is not repeated', run({}, { once: {} }), [seen('exited')], 'job_not_repeated'],
    [
      'a bind without its record waits',
      run({ mounts: mounts('bind') }),
      [seen('exited')],
      'bind_not_allowed',
    ],
    ['what runs is left alone', run(), [seen('running')], 'rests'],
    ['what the engine restarts too', run(), [seen('restarting')], 'rests'],
    [
      'Podman has its checks run',
      run({ healthCheck }),
      [seen('running')],
      'healthcheckNow',
      { engineKind: 'podman' },
    ],
    ['Docker runs its own', run({ healthCheck }), [seen('running')], 'rests'],
    ['what was to stop and came back is stopped', STOP, [seen('running')], 'stop'],
    ['what was to stop and is down stays down', STOP, [seen('exited')], 'rests'],
    ['a stop of this very run waits for its drain', STOP, [seen('running')], 'rests', { areRecalled: false }],
  ])('%s', (_what, assigned, containers, expected, change) => {
    const plan = planRecalled(view(containers, change), assigned);
    const got = plan.kind === 'step' ? plan.step.kind : plan.kind === 'waits' ? plan.reason : plan.kind;
    expect(got).toBe(expected);
  });
});
