import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import type { BindRecord } from './bind-record.ts';
import type { ContainerStatus } from '../engine/container.ts';
import { type InstanceHistory, NO_HISTORY, withFailure } from './instance-history.ts';
import type { ObservedContainer } from './observed-container.ts';
import {
  currentContainer,
  nextDueMs,
  type NodeView,
  planDisconnected,
  planAsk,
  planInstance,
} from './plan.ts';
import type { Step } from './step.ts';

const OURS = 'install-a';
const IMAGE = 'registry.test/box:1';

type Run = Extract<AssignedInstance, { readonly wanted: 'run' }>;
type Changes = Partial<Omit<Run, 'wanted'>>;

function stopped(id: string, more: Changes = {}): AssignedInstance {
  const { container: _none, once: _never, ...order } = assigned(id, more);
  return { ...order, wanted: 'stop' };
}

function assigned(id: string, more: Changes = {}, needsSecrets = false): Run {
  const container = {
    image: IMAGE,
    environment: {},
    needsSecrets,
    ports: [],
    labels: {},
    mounts: [],
    alias: 'web',
  };
  const base = { id, deployment: 'web', specHash: 'h1', secretsVersion: 0, attempt: 0 };
  return { ...base, container, ...more, wanted: 'run' };
}

function container(instanceId: string, more: Partial<ObservedContainer> = {}): ObservedContainer {
  return {
    id: `c-${instanceId}`,
    name: 'web',
    instanceId,
    installId: OURS,
    specHash: 'h1',
    secretsVersion: 0,
    attempt: 0,
    status: 'running',
    oomKilled: false,
    restarts: 0,
    restartsItself: false,
    binds: [],
    ports: [],
    ...more,
  };
}

interface World {
  readonly assigned?: readonly AssignedInstance[];
  readonly containers?: readonly ObservedContainer[];
  readonly history?: Readonly<Record<string, InstanceHistory>>;
  readonly more?: Partial<NodeView>;
}

function viewOf({ assigned: wanted = [], containers = [], history = {}, more = {} }: World): NodeView {
  return {
    nowMs: 1_000_000,
    engineKind: 'docker',
    installId: OURS,
    assigned: new Map(wanted.map((one) => [one.id, one])),
    containers: Map.groupBy(containers, (one) => one.instanceId),
    history: new Map(Object.entries(history)),
    condemned: new Set(),
    askedAtMs: new Map(),
    networkReady: true,
    images: new Set([IMAGE]),
    heldFolder: '/held',
    volume: () => ({ kind: 'waits', reason: 'volume_not_ready', message: '' }),
    takenNames: new Map(containers.map((one) => [one.name, one.instanceId])),
    ...more,
  };
}

function planAll(view: NodeView): readonly Step[] {
  const ids = new Set([...view.assigned.keys(), ...view.containers.keys()]);
  return [...[...ids].flatMap((id) => planInstance(view, id) ?? []), ...planAsk(view)];
}

const failed = withFailure(
  NO_HISTORY,
  { step: 'start', reason: 'port_in_use', message: '' },
  { baseMs: 100, capMs: 100 },
  1_000_000,
);

const CASES: readonly (readonly [string, World, readonly (Partial<Step> & { readonly kind: string })[]])[] = [
  [
    'a job that is to run once',
    { assigned: [assigned('a', { once: {} })] },
    [{ kind: 'create', name: 'web' }],
  ],
  [
    'a job whose container is made',
    { assigned: [assigned('a', { once: {} })], containers: [container('a', { status: 'created' })] },
    [{ kind: 'start' }],
  ],
  [
    'a job that was started is not started again, whatever an older look says',
    {
      assigned: [assigned('a', { once: {} })],
      containers: [container('a', { status: 'created' })],
      history: { a: { ...NO_HISTORY, wasStarted: true } },
    },
    [],
  ],
  [
    'a job that has ended stays',
    {
      assigned: [assigned('a', { once: { started: true } })],
      containers: [container('a', { status: 'exited', exitCode: 1 })],
    },
    [],
  ],
  [
    'a job that ran and is gone is not made again',
    { assigned: [assigned('a', { once: { started: true } })] },
    [],
  ],
  [
    'a job within its time',
    {
      assigned: [assigned('a', { once: { timeoutMs: 1000 } })],
      containers: [container('a')],
      history: { a: { ...NO_HISTORY, runningSinceMs: 999_001 } },
    },
    [],
  ],
  [
    'a job whose time is up',
    {
      assigned: [assigned('a', { once: { timeoutMs: 1000 } })],
      containers: [container('a')],
      history: { a: { ...NO_HISTORY, runningSinceMs: 999_000 } },
    },
    [{ kind: 'end' }],
  ],
  [
    'a job that is to end now',
    { assigned: [assigned('a', { once: { end: true } })], containers: [container('a')] },
    [{ kind: 'end' }],
  ],
  [
    'a job that is to go',
    { assigned: [stopped('a')], containers: [container('a', { status: 'exited' })] },
    [{ kind: 'remove' }],
  ],
  ['nothing assigned, nothing there', {}, []],
  ['a new instance', { assigned: [assigned('a')] }, [{ kind: 'create', name: 'web' }]],
  [
    'no image yet',
    { assigned: [assigned('a')], more: { images: new Set() } },
    [{ kind: 'pull', image: IMAGE }],
  ],
  [
    'no network yet',
    { assigned: [assigned('a')], more: { networkReady: false } },
    [{ kind: 'ensureNetwork' }],
  ],
  ['secrets first', { assigned: [assigned('a', {}, true)] }, [{ kind: 'resolve' }]],
  [
    'fresh secrets are used',
    { assigned: [assigned('a', {}, true)], history: { a: { ...NO_HISTORY, resolvedAtMs: 999_000 } } },
    [{ kind: 'create' }],
  ],
  [
    'old secrets are not',
    { assigned: [assigned('a', {}, true)], history: { a: { ...NO_HISTORY, resolvedAtMs: 900_000 } } },
    [{ kind: 'resolve' }],
  ],
  ['a failure waits', { assigned: [assigned('a')], history: { a: failed } }, []],
  [
    'created',
    { assigned: [assigned('a')], containers: [container('a', { status: 'created' })] },
    [{ kind: 'start', containerId: 'c-a' }],
  ],
  ['running', { assigned: [assigned('a')], containers: [container('a')] }, []],
  [
    'exited',
    { assigned: [assigned('a')], containers: [container('a', { status: 'exited' })] },
    [{ kind: 'start' }],
  ],
  [
    'restarting is the engine at work',
    { assigned: [assigned('a')], containers: [container('a', { status: 'restarting' })] },
    [],
  ],
  [
    'another attempt: the old one is stopped',
    { assigned: [assigned('a', { attempt: 1 })], containers: [container('a')] },
    [{ kind: 'stop', containerId: 'c-a' }],
  ],
  [
    'another spec without its image: the old one keeps running',
    {
      assigned: [assigned('a', { specHash: 'h2' })],
      containers: [container('a')],
      more: { images: new Set() },
    },
    [{ kind: 'pull' }],
  ],
  [
    'another spec without its secrets: the old one keeps running',
    { assigned: [assigned('a', { specHash: 'h2' }, true)], containers: [container('a')] },
    [{ kind: 'resolve' }],
  ],
  ['ordered to stop', { assigned: [stopped('a')], containers: [container('a')] }, [{ kind: 'stop' }]],
  [
    'stopped, to be removed',
    { assigned: [stopped('a')], containers: [container('a', { status: 'exited' })] },
    [{ kind: 'remove' }],
  ],
  [
    'absent from the assignment: asked, not stopped',
    { containers: [container('a')] },
    [{ kind: 'ask', instanceIds: ['a'] }],
  ],
  [
    'asked a moment ago',
    { containers: [container('a')], more: { askedAtMs: new Map([['a', 999_000]]) } },
    [],
  ],
  [
    'condemned by a verdict',
    { containers: [container('a')], more: { condemned: new Set(['a']) } },
    [{ kind: 'stop', containerId: 'c-a' }],
  ],
  [
    "another install's is never touched",
    { containers: [container('a', { installId: 'install-b' })], more: { condemned: new Set(['a']) } },
    [],
  ],
  [
    'two for one instance: the running one stays',
    {
      assigned: [assigned('a')],
      containers: [container('a', { id: 'c-0', status: 'created' }), container('a', { id: 'c-1' })],
    },
    [{ kind: 'remove', containerId: 'c-0' }],
  ],
  [
    'one that is going, one that is made',
    {
      assigned: [assigned('a')],
      containers: [
        container('a', { id: 'c-0', status: 'removing' }),
        container('a', { id: 'c-1', status: 'created' }),
      ],
    },
    [{ kind: 'start', containerId: 'c-1' }],
  ],
  [
    'the name is taken by another instance',
    { assigned: [assigned('ins_12345678'), assigned('b')], containers: [container('b')] },
    [{ kind: 'create', name: 'web-12345678' }],
  ],
  [
    'a check that is due, on Podman only',
    {
      assigned: [withCheck(assigned('a'))],
      containers: [container('a')],
      more: { engineKind: 'podman' },
    },
    [{ kind: 'healthcheckNow' }],
  ],
  ['on Docker no check is due', { assigned: [withCheck(assigned('a'))], containers: [container('a')] }, []],
];

function withCheck(instance: Run): Run {
  const healthCheck = { command: ['check'], intervalMs: 1000 };
  return { ...instance, container: { ...instance.container, healthCheck } };
}

describe('plan', () => {
  it.each(CASES)('%s', (_name, world, expected) => {
    expect(planAll(viewOf(world))).toMatchObject(expected);
    expect(planAll(viewOf(world))).toHaveLength(expected.length);
  });
});

const STATUSES: readonly ContainerStatus[] = [
  'created',
  'running',
  'paused',
  'restarting',
  'exited',
  'dead',
  'removing',
];
const IDS = ['ins_a1', 'ins_b2', 'ins_c3', 'ins_d4'];

const someContainer = (index: number): fc.Arbitrary<ObservedContainer> =>
  fc
    .record({
      instanceId: fc.constantFrom(...IDS),
      installId: fc.constantFrom(OURS, OURS, OURS, 'install-b'),
      specHash: fc.constantFrom('h1', 'h2'),
      attempt: fc.constantFrom(0, 1),
      status: fc.constantFrom(...STATUSES),
    })
    .map((some) => container(some.instanceId, { ...some, id: `c-${index}`, name: `n-${index}` }));

const someWorld = fc
  .record({
    assigned: fc.uniqueArray(
      fc
        .record({
          id: fc.constantFrom(...IDS),
          wanted: fc.constantFrom('run' as const, 'stop' as const),
          specHash: fc.constantFrom('h1', 'h2'),
          attempt: fc.constantFrom(0, 1),
          secrets: fc.boolean(),
        })
        .map(({ secrets, wanted, ...some }) =>
          wanted === 'stop' ? stopped(some.id, some) : assigned(some.id, some, secrets),
        ),
      { selector: (one) => one.id },
    ),
    containers: fc.tuple(
      ...[0, 1, 2, 3, 4].map((index) => fc.option(someContainer(index), { nil: undefined })),
    ),
    condemned: fc.subarray(IDS),
    images: fc.boolean(),
    networkReady: fc.boolean(),
    foreign: fc.boolean(),
  })
  .map(({ containers, condemned, images, networkReady, foreign, ...some }) => {
    const present = containers.filter((one) => one !== undefined);
    return viewOf({
      ...some,
      containers: present,
      more: {
        // A verdict never holds against an assignment: the loop drops it.
        condemned: new Set(condemned.filter((id) => !some.assigned.some((one) => one.id === id))),
        images: new Set(images ? [IMAGE] : []),
        networkReady,
        takenNames: new Map<string, string>([
          ...present.map((one) => [one.name, one.instanceId] as const),
          ...(foreign ? ([['web', '']] as const) : []),
        ]),
      },
    });
  });

/** An engine that does what it is told, at once. */
function carriedOut(view: NodeView, step: Step, count: number): NodeView {
  const all = [...view.containers.values()].flat();
  const withContainers = (containers: readonly ObservedContainer[]): NodeView => ({
    ...view,
    containers: Map.groupBy(containers, (one) => one.instanceId),
    takenNames: new Map([
      ...[...view.takenNames].filter(([, holder]) => holder === ''),
      ...containers.map((one) => [one.name, one.instanceId] as const),
    ]),
  });
  const remember = (id: string, fact: Partial<InstanceHistory>): NodeView => ({
    ...view,
    history: new Map([...view.history, [id, { ...(view.history.get(id) ?? NO_HISTORY), ...fact }]]),
  });
  const put = (id: string, status: ContainerStatus): NodeView =>
    withContainers(all.map((one) => (one.id === id ? { ...one, status } : one)));
  switch (step.kind) {
    case 'ensureNetwork':
      return { ...view, networkReady: true };
    case 'pull':
      return { ...view, images: new Set([...view.images, step.image]) };
    case 'resolve':
      return remember(step.instanceId, { resolvedAtMs: view.nowMs });
    case 'create': {
      const { specHash, attempt } = view.assigned.get(step.instanceId) ?? assigned(step.instanceId);
      const made = { id: `new-${count}`, name: step.name, specHash, attempt, status: 'created' as const };
      return withContainers([...all, container(step.instanceId, made)]);
    }
    case 'takeOver':
      return withContainers(
        all.map((one) => (one.id === step.containerId ? { ...one, restartsItself: false } : one)),
      );
    case 'start':
    case 'restart':
      return put(step.containerId, 'running');
    case 'end':
    case 'stop':
      return put(step.containerId, 'exited');
    case 'remove':
      return withContainers(all.filter((one) => one.id !== step.containerId));
    case 'healthcheckNow':
      return remember(step.instanceId, { checkedAtMs: view.nowMs });
    case 'ask':
      return { ...view, askedAtMs: new Map(step.instanceIds.map((id) => [id, view.nowMs])) };
  }
}

describe('whatever is assigned and there', () => {
  it('ends no container without an order for its instance or a verdict, and none of another install', () => {
    fc.assert(
      fc.property(someWorld, (view) => {
        for (const step of planAll(view)) {
          if (step.kind !== 'stop' && step.kind !== 'remove') continue;
          const target = [...view.containers.values()].flat().find((one) => one.id === step.containerId);
          const order = view.assigned.get(step.instanceId);
          expect(target?.installId).toBe(OURS);
          expect(target?.instanceId).toBe(step.instanceId);
          expect(order !== undefined || view.condemned.has(step.instanceId)).toBe(true);
          if (step.kind !== 'stop' || order?.wanted !== 'run') continue;
          const mine = (view.containers.get(order.id) ?? []).filter((one) => one.installId === OURS);
          expect(currentContainer(order, mine)?.id).not.toBe(step.containerId);
        }
      }),
    );
  });

  it('makes at most one container for an instance, and only when it has none that fits', () => {
    fc.assert(
      fc.property(someWorld, (view) => {
        const steps = planAll(view).filter((step) => step.kind !== 'ask');
        expect(new Set(steps.map((step) => step.instanceId)).size).toBe(steps.length);
        for (const step of steps.filter((one) => one.kind === 'create')) {
          const order = view.assigned.get(step.instanceId);
          const mine = (view.containers.get(step.instanceId) ?? []).filter((one) => one.installId === OURS);
          expect(order?.wanted).toBe('run');
          expect(order && currentContainer(order, mine)).toBeUndefined();
        }
      }),
    );
  });

  it('comes to rest with what was wanted, and then plans nothing', () => {
    fc.assert(
      fc.property(someWorld, fc.infiniteStream(fc.nat(1000)), (start, choices) => {
        let view = start;
        for (let count = 0; ; count += 1) {
          const steps = planAll(view);
          const going = [...view.containers.values()].flat().find((one) => one.status === 'removing');
          if (steps.length === 0 && going === undefined) break;
          // The engine ends by itself what it began to remove.
          if (steps.length === 0 && going !== undefined) {
            const { id: containerId, instanceId } = going;
            view = carriedOut(view, { kind: 'remove', instanceId, containerId }, count);
            continue;
          }
          expect(count).toBeLessThan(200);
          const choice = choices.next().value ?? 0;
          const step = steps[choice % steps.length];
          if (step !== undefined) view = carriedOut(view, step, count);
        }
        for (const order of view.assigned.values()) {
          const mine = (view.containers.get(order.id) ?? []).filter((one) => one.installId === OURS);
          if (order.wanted === 'stop') expect(mine).toEqual([]);
          else expect(mine).toMatchObject([{ specHash: order.specHash, attempt: order.attempt }]);
        }
        const others = (one: NodeView): readonly ObservedContainer[] =>
          [...one.containers.values()]
            .flat()
            .filter(({ status }) => status !== 'removing')
            .filter(({ instanceId }) => !one.assigned.has(instanceId) && !one.condemned.has(instanceId));
        expect(others(view)).toEqual(others(start));
        const names = [...view.containers.values()].flat().map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
      }),
    );
  });
});

describe('a container that others connect to', () => {
  const ordered = { a: { ...NO_HISTORY, stopOrderedAtMs: 999_000 } };
  const stops = (more: Partial<NodeView>, containers = [container('a')]) =>
    planInstance(viewOf({ assigned: [stopped('a')], containers, history: ordered, more }), 'a')?.kind;

  it('is stopped when others know that it leaves, and not before', () => {
    const drainsUntilMs = (_id: string, orderedMs: number): number => orderedMs + 2_000;
    expect(stops({ drainsUntilMs })).toBeUndefined();
    expect(
      nextDueMs(
        viewOf({
          assigned: [stopped('a')],
          containers: [container('a')],
          history: ordered,
          more: { drainsUntilMs },
        }),
        'a',
      ),
    ).toBe(1_001_000);
    expect(stops({ drainsUntilMs, nowMs: 1_001_000 })).toBe('stop');
    expect(stops({ drainsUntilMs }, [container('a', { status: 'exited' })])).toBe('remove');
  });

  it('is stopped at once where nobody knows it, and by a verdict', () => {
    expect(stops({ drainsUntilMs: () => undefined })).toBe('stop');
    const condemned = { drainsUntilMs: () => Infinity, condemned: new Set(['a']) };
    expect(planInstance(viewOf({ containers: [container('a')], more: condemned }), 'a')?.kind).toBe('stop');
  });
});

describe('a container that depends on a name', () => {
  const wanted = assigned('a');
  const waiting = { ...wanted, container: { ...wanted.container, after: ['db'] } };
  const starts = (answers: boolean | undefined, status: ContainerStatus = 'created') => {
    const view = viewOf({
      assigned: [waiting],
      containers: [container('a', { status })],
      more: { nameAnswers: () => answers },
    });
    return [planInstance(view, 'a')?.kind, nextDueMs(view, 'a')];
  };

  it('starts when it answers, and looks again until then', () => {
    expect(starts(false)).toEqual([undefined, 1_001_000]);
    expect(starts(true)[0]).toBe('start');
  });

  it('does not wait for what has no name here, nor once it ran', () => {
    expect(starts(undefined)[0]).toBe('start');
    expect(starts(false, 'exited')[0]).toBe('start');
  });
});

describe('a container with a volume', () => {
  const wanted = assigned('a');
  const mounts = [{ volumeId: 'vol_1', kind: 'volume', target: '/data', readOnly: false }] as const;
  const writer = { ...wanted, container: { ...wanted.container, mounts } };
  const next = (kind: 'ready' | 'waits' | 'lost', status?: ContainerStatus): Step | undefined =>
    planInstance(
      viewOf({
        assigned: [writer],
        containers: status === undefined ? [] : [container('a', { status })],
        more: {
          volume: () => (kind === 'ready' ? { kind, source: '/v' } : { kind, reason: 'r', message: 'm' }),
        },
      }),
      'a',
    );

  it('is made and started only when the volume is ready', () => {
    expect(next('waits')).toBeUndefined();
    expect(next('lost')).toBeUndefined();
    expect(next('ready')?.kind).toBe('create');
    for (const status of ['created', 'exited'] as const) {
      expect(next('waits', status)).toBeUndefined();
      expect(next('lost', status)).toBeUndefined();
      expect(next('ready', status)?.kind).toBe('start');
    }
  });

  it('runs on while the volume is looked for, and ends when this node may not write it', () => {
    expect(next('waits', 'running')).toBeUndefined();
    for (const status of ['running', 'restarting', 'paused'] as const) {
      expect(next('lost', status)?.kind).toBe('stop');
    }
  });

  it('of another kind waits for nothing', () => {
    const tmpfs = {
      ...wanted,
      container: { ...wanted.container, mounts: [{ ...mounts[0], kind: 'tmpfs' as const }] },
    };
    expect(planInstance(viewOf({ assigned: [tmpfs] }), 'a')?.kind).toBe('create');
  });
});

describe('a container with binds', () => {
  const mount = { volumeId: 'vol_1', kind: 'bind', source: '/srv/a', target: '/a', readOnly: false } as const;
  const wanted = assigned('i1');
  const bound = { ...wanted, container: { ...wanted.container, mounts: [mount] } };
  const held = { binds: ['/held/i1/vol_1'] };
  const step = (more: Partial<ObservedContainer>): string | undefined =>
    planInstance(viewOf({ assigned: [bound], containers: [container('i1', more)] }), 'i1')?.kind;

  it('is taken from the engine, which would start it by names', () => {
    for (const status of ['running', 'restarting', 'exited', 'created', 'paused'] as const)
      expect(step({ status, restartsItself: true, binds: ['/srv/a'] })).toBe('takeOver');
  });

  it('is left alone while it runs, and started by what is held', () => {
    expect(step({ binds: ['/srv/a'] })).toBeUndefined();
    expect(step({ status: 'exited', ...held })).toBe('start');
    expect(step({ status: 'created', ...held })).toBe('start');
  });

  it('is made anew when it has names instead', () => {
    for (const status of ['exited', 'created'] as const)
      expect(step({ status, binds: ['/srv/a'] })).toBe('remove');
  });

  it('is started without a session by what is remembered of it, and by nothing else', () => {
    const owner = { node: 'n', installId: OURS, tenantId: 't', tenantSlug: 's' };
    const record: BindRecord = {
      instanceId: 'i1',
      owner,
      specHash: 'h1',
      attempt: 0,
      once: false,
      binds: [{ volumeId: 'vol_1', source: '/srv/a', path: '/srv/a' }],
      volumeIds: [],
      restarts: 0,
    };
    const alone = (more: Partial<ObservedContainer>, other: Partial<BindRecord> = {}, fromMs = 0) =>
      planDisconnected(
        { ...viewOf({ containers: [container('i1', { status: 'exited', ...held, ...more })] }), fromMs },
        { ...record, ...other },
      )?.kind;
    expect(alone({})).toBe('start');
    expect(alone({}, {}, 1_000_001)).toBeUndefined();
    expect(alone({ status: 'running' })).toBeUndefined();
    expect(alone({ status: 'created' })).toBeUndefined();
    expect(alone({ binds: ['/srv/a'] })).toBeUndefined();
    expect(alone({ specHash: 'h2' })).toBeUndefined();
    expect(alone({ installId: 'other' })).toBeUndefined();
    expect(alone({}, { once: true })).toBeUndefined();
    expect(alone({}, { volumeIds: ['vol_2'] })).toBeUndefined();
  });
});
