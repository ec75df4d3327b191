import { describe, expect, it } from 'vitest';
import { DEFAULT_REGIONS } from '../../scheduler/regions.ts';
import {
  binding,
  n,
  volumeFacts,
  volumeNode,
  volumeSample,
  type VolumeWorld,
} from '../../../../test/support/samples/volume.ts';
import { planVolume } from './volumes.ts';

function plan(world: VolumeWorld) {
  const { record, events, ...rest } = planVolume(volumeFacts(world));
  return {
    ...rest,
    record,
    kinds: events.map(({ kind }) => kind),
    events,
    copies: record.replicas.map(({ nodeId, state }) => `${nodeId} ${state}`),
  };
}

const copy = (sequence: number, epoch = 1) => ({
  copy: { epoch, sequence, takenAt: '2026-01-01T12:00:00.000Z' },
});
const told = (nodeId: string, state: 'live' | 'syncing' | 'failed', ageMs = 0) => ({ nodeId, state, ageMs });
const live = (nodeId: string) => ({ nodeId: n(nodeId), state: 'live' }) as const;
const [a, b, c] = [volumeNode('a'), volumeNode('b'), volumeNode('c')];
const down = { ...a, condition: 'failed' } as const;

describe('the primary of a volume', () => {
  const pending = volumeSample({ phase: 'Pending', primaryNodeId: undefined as never });

  it('is chosen among ready nodes with an engine: the least loaded, then by name', () => {
    const { primaryNodeId: _none, ...record } = pending;
    const nodes = [volumeNode('z'), volumeNode('y', { engines: [] }), volumeNode('x'), volumeNode('w')];
    expect(plan({ record, nodes }).record).toMatchObject({ primaryNodeId: 'w', phase: 'Materializing' });
    expect(plan({ record, nodes, load: { w: 1 } }).record.primaryNodeId).toBe('x');
    const unfit = [
      volumeNode('a', { condition: 'failed' }),
      volumeNode('b', { schedulable: false }),
      volumeNode('c', { engines: [] }),
      volumeNode('d', { condition: 'unknown' }),
    ];
    expect(plan({ record, nodes: unfit }).record).toMatchObject({
      phase: 'Pending',
      message: 'no ready node with an engine for volumes can keep it',
    });
    const ephemeral = { ...record, class: 'ephemeral' } as const;
    expect(plan({ record: ephemeral, nodes: unfit }).record.primaryNodeId).toBe('c');
  });

  it('makes the volume ready by its word under the stored epoch, and by no other', () => {
    const record = volumeSample({ phase: 'Materializing' });
    expect(plan({ record, nodes: [a], seen: { a: {} } })).toMatchObject({
      record: { phase: 'Ready' },
      kinds: ['volume.ready'],
    });
    for (const said of [{ epoch: 2 }, { role: 'replica' }, { state: 'preparing' }] as const)
      expect(plan({ record, nodes: [a], seen: { a: said } }).record.phase).toBe('Materializing');
    const failed = { state: 'failed', problem: { reason: 'no_space', message: 'the disk is full' } } as const;
    expect(plan({ record, nodes: [a], seen: { a: failed } }).record).toMatchObject({
      phase: 'Materializing',
      message: 'a: the disk is full',
    });
    const ready = volumeSample();
    expect(plan({ record: ready, nodes: [a], seen: { a: failed } }).kinds).toEqual(['volume.degraded']);
    expect(plan({ record: ready, nodes: [a], seen: { a: { state: 'preparing' } } }).record.phase).toBe(
      'Ready',
    );
  });

  it('that nothing was ever heard of changes nothing', () => {
    const record = volumeSample();
    expect(plan({ record, nodes: [volumeNode('a', { condition: 'unknown' })] }).record).toEqual(record);
  });

  it('is not needed by memory, and not to be had for objects', () => {
    const none = { primaryNodeId: undefined as never, phase: 'Pending' } as const;
    const memory = volumeSample({ ...none, class: 'ephemeral', type: 'tmpfs' });
    expect(plan({ record: memory }).record.phase).toBe('Ready');
    expect(plan({ record: volumeSample({ ...none, class: 'object' }) }).record.phase).toBe('Pending');
  });
});

describe('copies', () => {
  const nodes = [a, b, c];

  it('are made on other nodes that share the engine of the primary', () => {
    const record = volumeSample({ copies: 2 });
    expect(plan({ record, nodes }).copies).toEqual(['b syncing', 'c syncing']);
    const other = [a, volumeNode('b', { engines: ['rsync'] }), c];
    expect(plan({ record, nodes: other })).toMatchObject({
      copies: ['c syncing'],
      kinds: ['volume.copy_added'],
    });
  });

  it('are live by the word of the primary, as long as they are not too old', () => {
    const record = volumeSample({ copies: 2, replicas: [live('b'), { nodeId: n('c'), state: 'syncing' }] });
    const seen = (copies: readonly ReturnType<typeof told>[]) => ({ a: { copies } });
    expect(
      plan({ record, nodes, seen: seen([told('b', 'live'), told('c', 'live', 60_000)]) }).copies,
    ).toEqual(['b live', 'c live']);
    const old = plan({ record, nodes, seen: seen([told('b', 'live', 60_001), told('c', 'failed')]) });
    expect(old.copies).toEqual(['b syncing', 'c failed']);
    expect(old.kinds).toEqual(['volume.copy_failed']);
    const unknown = { nodeId: 'b', state: 'live' } as const;
    expect(plan({ record, nodes, seen: { a: { copies: [unknown] } } }).copies[0]).toBe('b syncing');
  });

  it('that a primary which may be written does not name are not live; one that is prepared writes nothing', () => {
    const record = volumeSample({ copies: 1, replicas: [live('b')] });
    expect(plan({ record, nodes, seen: { a: { copies: [] } } }).copies).toEqual(['b syncing']);
    expect(plan({ record, nodes, seen: { a: { state: 'preparing' } } }).copies).toEqual(['b live']);
    expect(plan({ record, nodes }).copies).toEqual(['b live']);
  });

  it('of a silent node fail and wait for it; of a lost one they are made elsewhere, and the node is told on its return', () => {
    const record = volumeSample({ copies: 1, replicas: [live('b')] });
    const silent = plan({ record, nodes: [a, { ...b, condition: 'failed' }, c] });
    expect(silent.copies).toEqual(['b failed']);
    expect(silent.record.phase).toBe('Ready');
    const lost = plan({ record, nodes: [a, { ...b, condition: 'lost' }, c] });
    expect(lost.copies).toEqual(['c syncing']);
    expect(lost.record.leaving).toEqual(['b']);
    // There is no other node: the failed copy is kept, it may return.
    expect(plan({ record, nodes: [a, { ...b, condition: 'lost' }] }).copies).toEqual(['b failed']);
    expect(plan({ record, nodes: [a, c] }).record.leaving).toEqual([]);
  });

  it('go where residency allows and nowhere else', () => {
    const de = { 'berth.io/country': 'DE' };
    const facts = { bindings: [binding({ country: 'DE' })], regions: DEFAULT_REGIONS };
    const labelled = [volumeNode('a', { labels: de }), b, volumeNode('c', { labels: de })];
    const record = volumeSample({ copies: 1, replicas: [live('b')] });
    const moved = plan({ ...facts, record, nodes: labelled });
    expect(moved.copies).toEqual(['c syncing']);
    expect(moved.record.leaving).toEqual(['b']);
  });

  it('are not removed by a reader, nor by a writer that is stopped or waits: they are kept, and told of', () => {
    const de = { 'berth.io/country': 'DE' };
    const labelled = [volumeNode('a', { labels: de }), b, volumeNode('c', { labels: de })];
    const record = volumeSample({ copies: 1, replicas: [live('b')] });
    const of = (fields: Parameters<typeof binding>[1], country = 'DE') => ({
      record,
      nodes: labelled,
      regions: DEFAULT_REGIONS,
      bindings: [binding({ country }, fields)],
    });
    const read = plan(of({ owner: 'web', writes: false }));
    // One that could take over is made beside it.
    expect(read.copies).toEqual(['b live', 'c syncing']);
    expect(read.kinds).toEqual(['volume.copy_misplaced', 'volume.copy_added']);
    expect(read.record).toMatchObject({
      leaving: [],
      replicas: [{ misplaced: 'the residency of web (country DE) does not allow it there' }, {}],
    });
    const told = plan({ ...of({ owner: 'web', writes: false }), record: read.record });
    expect(told.kinds).toEqual([]);
    // Nothing is taken away when its reason goes, but one too many.
    expect(plan({ ...of({}), bindings: [], record: read.record }).copies).toEqual(['b live']);
    expect(plan(of({ active: false })).copies).toEqual(['b live']);
    expect(plan(of({}, 'AT'))).toMatchObject({ copies: ['b live'], record: { leaving: [] } });
    const dead = [{ ...down, labels: de }, b];
    const stuck = plan({ ...of({ owner: 'web', writes: false }), nodes: dead, seen: { b: copy(5) } });
    expect(stuck).toMatchObject({ promotes: false, record: { phase: 'Degraded' } });
    expect(stuck.record.message).toContain('the residency of web (country DE) does not allow it there');
    const stopped = plan({ ...of({ writes: false, active: false }), nodes: dead, seen: { b: copy(5) } });
    expect(stopped.promotes).toBe(true);
  });

  it('are not made on a machine of the control plane, nor promoted there', () => {
    const record = volumeSample({ copies: 1 });
    const reserved = volumeNode('b', { reserved: true });
    expect(plan({ record, nodes: [a, reserved] }).copies).toEqual([]);
    const old = volumeSample({ copies: 1, replicas: [live('b')] });
    const dead = plan({ record: old, nodes: [down, reserved], seen: { b: copy(5) } });
    expect(dead).toMatchObject({ promotes: false, copies: ['b live'] });
  });

  it('that are too many go, the least useful first, but never with bytes that no other has', () => {
    const replicas = [
      live('b'),
      { nodeId: n('c'), state: 'syncing' },
      { nodeId: n('d'), state: 'syncing', formerEpoch: 1 },
    ] as const;
    const record = volumeSample({ copies: 1, epoch: 2, replicas });
    const fewer = plan({
      record,
      nodes: [...nodes, volumeNode('d')],
      seen: { a: { copies: [told('b', 'live')] } },
    });
    expect(fewer.record.replicas.map(({ nodeId }) => nodeId)).toEqual(['b', 'd']);
    expect(fewer.record.leaving).toEqual(['c']);
  });

  it('of a former primary are like the others once it says that nothing of its own is left', () => {
    const replicas = [{ nodeId: n('b'), state: 'syncing', formerEpoch: 1 }] as const;
    const record = volumeSample({ copies: 1, epoch: 2, replicas });
    const diverged = [{ epoch: 1, path: '/d' }];
    const kept = plan({ record, nodes, seen: { b: { diverged } } });
    expect(kept.record.replicas[0]).toMatchObject({ formerEpoch: 1 });
    for (const said of [{ state: 'preparing' }, { epoch: 1 }] as const)
      expect(plan({ record, nodes, seen: { b: said } }).record.replicas[0]).toMatchObject({ formerEpoch: 1 });
    expect(plan({ record, nodes, seen: { b: {} } }).record.replicas[0]).toEqual({
      nodeId: 'b',
      state: 'syncing',
    });
  });
});

describe('a promotion', () => {
  const record = volumeSample({ copies: 2, replicas: [live('b'), live('c')] });
  const nodes = [down, b, c];
  const seen = { b: copy(5), c: copy(7) };

  it('takes the newest complete copy, raises the epoch and keeps the old primary as a copy', () => {
    const age = { ageMs: 1200, heardMs: 970_000 };
    const {
      record: next,
      events,
      promotes,
    } = plan({
      record,
      nodes,
      seen,
      fencedAtMs: 990_000,
      copyAge: (node) => (node === 'c' ? age : undefined),
      leaseMs: 20_000,
    });
    expect(promotes).toBe(true);
    expect(next).toMatchObject({ primaryNodeId: 'c', epoch: 2, phase: 'Degraded', leaseMs: 20_000 });
    expect(next.replicas).toEqual([
      { nodeId: 'b', state: 'syncing' },
      { nodeId: 'a', state: 'failed', formerEpoch: 1 },
    ]);
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      kind: 'volume.promoted',
      details: { from: 'a', to: 'c', epoch: 2, copy: { sequence: 7 }, lossBoundSeconds: 22 },
    });
  });

  it.each([
    ['being drained', { draining: true, schedulable: false }],
    ['cordoned', { schedulable: false }],
  ])('takes another copy than that of a node that is %s, however new that is', (_why, closed) => {
    const world = { record, seen, nodes: [down, b, { ...c, ...closed }] };
    expect(plan(world).record.primaryNodeId).toBe('b');
    // Better there than nowhere.
    const alone = { ...record, replicas: [live('c')] };
    expect(plan({ ...world, record: alone }).record.primaryNodeId).toBe('c');
  });

  it('says that the loss is not known when the age of the copy is not', () => {
    expect(plan({ record, nodes, seen }).events[0]?.details['lossBoundSeconds']).toBeNull();
  });

  it('waits for the end of the lease, to the millisecond', () => {
    const waiting = plan({ record, nodes, seen, fencedAtMs: 1_000_001 });
    expect(waiting).toMatchObject({ promotes: false, recheckInMs: 1 });
    expect(waiting.record).toMatchObject({ primaryNodeId: 'a', epoch: 1, phase: 'Ready' });
    expect(plan({ record, nodes, seen, fencedAtMs: 1_000_000 }).promotes).toBe(true);
  });

  it('does not happen while the primary answers, or while too many nodes do not', () => {
    expect(plan({ record, nodes: [a, b, c], seen }).promotes).toBe(false);
    const braked = plan({ record, nodes, seen, braked: () => true });
    expect(braked.promotes).toBe(false);
    expect(braked.record.message).toContain('too many');
    const lost = [{ ...a, condition: 'lost' }, b, c] as const;
    expect(plan({ record, nodes: lost, seen, braked: () => true }).promotes).toBe(true);
  });

  it('never takes a copy that is incomplete, of another epoch, not live, silent or out of bounds', () => {
    const one = volumeSample({ copies: 1, replicas: [live('b')] });
    const unfit: readonly VolumeWorld[] = [
      { record: one, nodes: [down, b], seen: { b: {} } },
      { record: one, nodes: [down, b], seen: { b: copy(5, 0) } },
      { record: one, nodes: [down, b], seen: { b: { ...copy(5), epoch: 0 } } },
      { record: one, nodes: [down, b], seen: { b: { ...copy(5), state: 'failed' } } },
      { record: one, nodes: [down, { ...b, condition: 'failed' }], seen: { b: copy(5) } },
      { record: one, nodes: [down], seen: { b: copy(5) } },
      { record: one, nodes: [down, b], seen: { b: copy(5) }, bindings: [binding({ country: 'DE' })] },
      {
        record: { ...one, replicas: [{ nodeId: n('b'), state: 'syncing' }] },
        nodes: [down, b],
        seen: { b: copy(5) },
      },
    ];
    for (const world of unfit) {
      const { record: next, promotes, kinds } = plan(world);
      expect([promotes, next.epoch, next.phase]).toEqual([false, 1, 'Degraded']);
      expect(kinds).toContain('volume.degraded');
    }
  });

  it('also replaces a primary whose node was deleted, which then is no copy', () => {
    const { record: next } = plan({ record, nodes: [b, c], seen });
    expect(next.primaryNodeId).toBe('c');
    expect(next.replicas).toEqual([{ nodeId: 'b', state: 'syncing' }]);
  });
});

describe('a deletion', () => {
  it('ends when every node that can be reached has removed its bytes', () => {
    const { primaryNodeId: _none, ...rest } = volumeSample({ phase: 'Deleting', leaving: [n('a'), n('b')] });
    const half = plan({ record: rest, nodes: [a, b], seen: { a: { state: 'gone' } } });
    expect([half.record.leaving, half.remove, half.forget]).toEqual([['b'], false, ['a']]);
    const whole = plan({ record: rest, nodes: [a], seen: { a: { state: 'gone' } } });
    expect([whole.remove, whole.kinds]).toEqual([true, ['volume.deleted']]);
  });
});

describe('a volume that nothing mounts', () => {
  it('remembers since when', () => {
    const unmounted = plan({ nodes: [a], mounted: false }).record;
    expect(unmounted.unmountedSince).toBe('2026-01-02T00:00:00.000Z');
    expect(plan({ record: unmounted, nodes: [a] }).record.unmountedSince).toBeUndefined();
  });
});
