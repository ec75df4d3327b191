import { describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import { type AloneView, planAlone } from './alone.ts';
import { type InstanceHistory, NO_HISTORY } from './instance-history.ts';
import type { ObservedContainer } from './observed-container.ts';

const CONTAINER = {
  image: 'i:1',
  environment: {},
  needsSecrets: false,
  ports: [],
  labels: {},
  mounts: [],
  alias: 'web',
};

function assigned(id: string, change: { readonly aloneRestartMs?: number } = { aloneRestartMs: 30_000 }) {
  return {
    id,
    deployment: 'web',
    specHash: 'h',
    secretsVersion: 0,
    attempt: 0,
    wanted: 'run',
    container: CONTAINER,
    ...change,
  } as AssignedInstance;
}

function container(id: string, status: 'starting' | 'healthy' | 'unhealthy'): ObservedContainer {
  return {
    id: `c-${id}`,
    name: id,
    instanceId: id,
    installId: 'own',
    specHash: 'h',
    secretsVersion: 0,
    attempt: 0,
    status: 'running',
    oomKilled: false,
    health: { status, failingStreak: 3, commandNotFound: false },
    restarts: 0,
    restartsItself: true,
    binds: [],
    ports: [],
  };
}

const ILL: InstanceHistory = { ...NO_HISTORY, unhealthySinceMs: 0 };

function view(change: Partial<AloneView> = {}): AloneView {
  return {
    nowMs: 100_000,
    sinceMs: 0,
    installId: 'own',
    assigned: new Map([['a', assigned('a')]]),
    containers: new Map([['a', [container('a', 'unhealthy')]]]),
    history: new Map([['a', ILL]]),
    volume: () => ({ kind: 'ready', source: '/v' }),
    ...change,
  };
}

const RESTART = { kind: 'restart', instanceId: 'a', containerId: 'c-a' };
const both = (other: ObservedContainer): Partial<AloneView> => ({
  assigned: new Map([
    ['a', assigned('a')],
    ['b', assigned('b')],
  ]),
  containers: new Map([
    ['a', [container('a', 'unhealthy')]],
    ['b', [other]],
  ]),
});

describe('without a session', () => {
  it.each<[string, Partial<AloneView>]>([
    ['a hung container', {}],
    ['beside a healthy one', both(container('b', 'healthy'))],
    ['beside another one that hangs', both(container('b', 'unhealthy'))],
  ])('%s is restarted', (_what, change) => {
    expect(planAlone(view(change), 'a')).toEqual(RESTART);
  });

  it.each<[string, Partial<AloneView>]>([
    ['without the word of the control plane', { assigned: new Map([['a', assigned('a', {})]]) }],
    ['within the first minute alone', { sinceMs: 50_000 }],
    ['before its time', { history: new Map([['a', { ...ILL, unhealthySinceMs: 80_000 }]]) }],
    ['in the back-off', { history: new Map([['a', { ...ILL, aloneRestarts: 2 }]]) }],
    ['that is healthy', { containers: new Map([['a', [container('a', 'healthy')]]]) }],
    ['of another installation', { installId: 'other' }],
    ['while another one of its deployment starts', both(container('b', 'starting'))],
    ['while another one of its deployment is down', both({ ...container('b', 'healthy'), status: 'exited' })],
  ])('nothing is restarted %s', (_what, change) => {
    expect(planAlone(view(change), 'a')).toBeUndefined();
  });
});
