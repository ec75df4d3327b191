import { describe, expect, it } from 'vitest';
import type { VolumeRecord } from '../../model/volume.ts';
import {
  n,
  volumeFacts,
  volumeNode,
  volumeSample,
  type VolumeWorld,
} from '../../../../test/support/samples/volume.ts';
import { PREPARING_MS, STOPPING_MS } from './volume-switchover.ts';
import { planVolume, type VolumePlan } from './volumes.ts';

const NOW_MS = 1_000_000;
const OLD = volumeNode('a', { draining: true, schedulable: false, seals: true });
const SENT = ['b', 'c'].map((nodeId) => ({ nodeId, state: 'live', ageMs: 500 }) as const);
const COPY = { a: { copies: SENT }, b: { copy: { epoch: 1, sequence: 3, takenAt: '' } } };
const HELD = volumeSample({ copies: 1, replicas: [{ nodeId: n('b'), state: 'live' }] });

function plan(fields: Partial<VolumeRecord> = {}, world: VolumeWorld = {}): VolumePlan {
  const record = { ...HELD, ...fields };
  return planVolume(volumeFacts({ nodes: [OLD, volumeNode('b')], seen: COPY, ...world, record }));
}

function moving(step: 'stopping' | 'copying'): Partial<VolumeRecord> {
  const switchover = { attempt: 4, to: n('b'), step, by: 'drain', since: '' } as const;
  return { switchovers: 4, switchover };
}

const sealed = (attempt: number, on: readonly string[]) => ({
  ...COPY,
  a: { state: 'preparing' as const, sealed: { attempt, sequence: 9, on: [...on] } },
});

describe('the primary of a node that is being drained', () => {
  it('moves to a live copy where what mounts it can run', () => {
    const { record, events } = plan({ switchovers: 3 });
    expect(record.switchover).toMatchObject({ attempt: 4, to: 'b', step: 'stopping', by: 'drain' });
    expect([record.primaryNodeId, record.epoch]).toEqual(['a', 1]);
    expect(events.map(({ kind }) => kind)).toEqual(['volume.switchover']);
  });

  it.each<[string, Partial<VolumeRecord>, VolumeWorld]>([
    ['its copy is behind', { replicas: [{ nodeId: n('b'), state: 'syncing' }] }, { seen: { a: {} } }],
    ['the other node is cordoned', {}, { nodes: [OLD, volumeNode('b', { schedulable: false })] }],
    ['the other node is drained too', {}, { nodes: [OLD, volumeNode('b', { draining: true })] }],
    ['the other node is away', {}, { nodes: [OLD, volumeNode('b', { condition: 'failed' })] }],
    ['what mounts it could not run there', {}, { unfit: () => 'no room' }],
    ['a run of a job has it', {}, { busy: () => 'a run' }],
    ['its agent is too old', {}, { nodes: [{ ...OLD, seals: false }, volumeNode('b')] }],
    [
      'the primary is away',
      {},
      { nodes: [{ ...OLD, condition: 'failed' }, volumeNode('b')], braked: () => true },
    ],
    ['it failed in this drain', { switchoverFailed: { to: n('b'), by: 'drain', why: '', at: '' } }, {}],
  ])('stays while %s', (_why, fields, world) => {
    const { record } = plan(fields, world);
    expect([record.switchover, record.epoch]).toEqual([undefined, 1]);
  });

  it('tries again in the next drain', () => {
    const failed = { switchoverFailed: { to: n('b'), by: 'drain', why: '', at: '' } } as const;
    const { record } = plan(failed, { nodes: [{ ...OLD, draining: false }, volumeNode('b')] });
    expect(record.switchoverFailed).toBeUndefined();
  });
});

describe('a planned move to a node that fetches images first', () => {
  const images = ['registry.example/pg@sha256:1'];
  const READY = volumeNode('b', { prepares: true });
  const world = { nodes: [OLD, READY], images: () => images, users: () => 1 };
  const has = (there: readonly string[], problem?: string) => ({
    ...COPY,
    b: { ...COPY.b, prepared: { images: [...there], ...(problem !== undefined && { problem }) } },
  });
  const preparing: Partial<VolumeRecord> = {
    switchovers: 4,
    switchover: { attempt: 4, to: n('b'), step: 'preparing', images, by: 'drain', since: '' },
  };

  it('stops nothing before they are there', () => {
    expect(plan({}, world).record.switchover).toMatchObject({ step: 'preparing', images });
    for (const seen of [COPY, has([]), has(['another'])])
      expect(plan(preparing, { ...world, seen }).record.switchover?.step).toBe('preparing');
    const { switchover } = plan(preparing, { ...world, seen: has(images) }).record;
    expect(switchover).toMatchObject({ step: 'stopping', to: 'b', attempt: 4 });
    expect(switchover).not.toHaveProperty('images');
  });

  it('fetches what runs by then, and waits for a rollout that began meanwhile and for a copy that fell behind', () => {
    const other = ['registry.example/pg@sha256:2'];
    const changed = plan(preparing, { ...world, images: () => other, seen: has(images) });
    expect(changed.record.switchover).toMatchObject({ step: 'preparing', images: other });
    const late = { ...preparing, replicas: [{ nodeId: n('b'), state: 'syncing' }] as const };
    expect(plan(late, { ...world, seen: has(images) }).record.switchover?.step).toBe('preparing');
    const busy = plan(preparing, { ...world, seen: has(images), busy: () => 'a rollout' });
    expect([busy.record.switchover?.step, (busy.recheckInMs ?? 0) <= 2_000]).toEqual(['preparing', true]);
  });

  it('begins at once where the agent cannot, and where nothing runs', () => {
    const old = plan({}, { ...world, nodes: [OLD, volumeNode('b')] });
    expect(old.record.switchover?.step).toBe('stopping');
    expect(plan({}, { ...world, images: () => [] }).record.switchover?.step).toBe('stopping');
  });

  it('is given up when they do not come, with why, and nothing was stopped for it', () => {
    const late = { ...world, seen: has([], 'no route to host'), stepSinceMs: NOW_MS - PREPARING_MS };
    const { record } = plan(preparing, late);
    expect(record.switchover).toBeUndefined();
    expect(record.switchoverFailed?.why).toBe(`b did not have ${images[0]} after 300 s (no route to host)`);
  });

  it('looks for another node when that one is closed meanwhile, in the same drain', () => {
    const copies = { copies: 2, replicas: [...HELD.replicas, { nodeId: n('c'), state: 'live' }] } as const;
    const nodes = [OLD, { ...READY, draining: true }, volumeNode('c', { prepares: true })];
    const left = plan({ ...preparing, ...copies }, { ...world, nodes });
    expect([left.record.switchover, left.record.switchoverFailed]).toEqual([undefined, undefined]);
    const next = plan({ ...left.record }, { ...world, nodes });
    expect(next.record.switchover).toMatchObject({ to: 'c', step: 'preparing', attempt: 5 });
  });
});

describe('a planned move', () => {
  it('waits until nothing mounts it, then has the last copy made', () => {
    expect(plan(moving('stopping'), { users: () => 1 }).record.switchover?.step).toBe('stopping');
    expect(plan(moving('stopping')).record.switchover?.step).toBe('copying');
  });

  it('ends when the node has the copy that was made after the lease was given back', () => {
    const { record, events, promotes } = plan(moving('copying'), { seen: sealed(4, ['b']) });
    expect(record).toMatchObject({ primaryNodeId: 'b', epoch: 2, phase: 'Degraded', switchovers: 4 });
    expect(record.replicas).toEqual([{ nodeId: 'a', state: 'syncing', formerEpoch: 1 }]);
    expect(record.switchover).toBeUndefined();
    expect(events).toMatchObject([
      { kind: 'volume.promoted', details: { lossBoundSeconds: 0, copy: { sequence: 9 } } },
    ]);
    expect(promotes).toBe(false);
  });

  it('ends also when the old primary is lost after it had given the lease back', () => {
    const nodes = [{ ...OLD, condition: 'lost' as const }, volumeNode('b')];
    const { record } = plan(moving('copying'), { nodes, seen: sealed(4, ['b']), nowMs: 0, stepSinceMs: 0 });
    expect(record).toMatchObject({ primaryNodeId: 'b', epoch: 2 });
  });

  it.each<[string, 'stopping' | 'copying', VolumeWorld]>([
    ['the copy is on no node yet', 'copying', { seen: sealed(4, []) }],
    ['it is on another node only', 'copying', { seen: sealed(4, ['c']) }],
    ['what is said is of an earlier move', 'copying', { seen: sealed(3, ['b']) }],
    [
      'what is said is of an earlier epoch',
      'copying',
      { seen: { ...COPY, a: { ...sealed(4, ['b']).a, epoch: 0 } } },
    ],
    ['it was not asked to hold still', 'stopping', { seen: sealed(4, ['b']), users: () => 1 }],
  ])('does not end while %s', (_why, step, world) => {
    const { record } = plan(moving(step), world);
    expect([record.primaryNodeId, record.epoch, record.switchover?.to]).toEqual(['a', 1, 'b']);
  });

  it.each<[string, 'stopping' | 'copying', VolumeWorld, RegExp]>([
    [
      'the drain was ended',
      'copying',
      { nodes: [{ ...OLD, draining: false }, volumeNode('b')] },
      /drain was ended/,
    ],
    [
      'the node goes away',
      'copying',
      { nodes: [OLD, volumeNode('b', { condition: 'failed' })] },
      /does not answer/,
    ],
    ['the node is drained too', 'stopping', { nodes: [OLD, volumeNode('b', { draining: true })] }, /drained/],
    [
      'a writer does not end',
      'stopping',
      { users: () => 1, stepSinceMs: NOW_MS - STOPPING_MS },
      /had not stopped/,
    ],
    [
      'the last copy takes too long',
      'copying',
      { stepSinceMs: NOW_MS - 30_000 },
      /last copy was not on b after 30 s/,
    ],
  ])('is given up when %s, and the old primary goes on', (_why, step, world, why) => {
    const { record, events } = plan(moving(step), world);
    expect([record.primaryNodeId, record.epoch, record.switchover]).toEqual(['a', 1, undefined]);
    expect(record.switchoverFailed).toMatchObject({ to: 'b', by: 'drain', why: expect.stringMatching(why) });
    expect(events.map(({ kind }) => kind)).toContain('volume.switchover_failed');
  });

  it('ends on another node that has the last copy when the chosen one takes no new work by then', () => {
    const replicas = [
      { nodeId: n('b'), state: 'live' },
      { nodeId: n('c'), state: 'live' },
    ] as const;
    const closed = volumeNode('b', { draining: true, schedulable: false });
    const nodes = [OLD, closed, volumeNode('c')];
    const moved = { ...moving('copying'), replicas };
    expect(plan(moved, { nodes, seen: sealed(4, ['b', 'c']) }).record).toMatchObject({
      primaryNodeId: 'c',
      epoch: 2,
    });
    // Nobody else has it: the old primary goes on, unless it is gone.
    const stays = plan(moved, { nodes, seen: sealed(4, ['b']) }).record;
    expect([stays.primaryNodeId, stays.switchoverFailed?.why]).toEqual(['a', 'b: it is being drained']);
    const gone = [{ ...OLD, condition: 'lost' as const }, closed, volumeNode('c')];
    expect(plan(moved, { nodes: gone, seen: sealed(4, ['b']) }).record.primaryNodeId).toBe('b');
  });

  it('becomes a promotion when the old primary is lost before it held still', () => {
    const nodes = [{ ...OLD, condition: 'lost' as const }, volumeNode('b')];
    const { record, promotes, events } = plan(moving('stopping'), { nodes });
    expect([promotes, record.primaryNodeId, record.epoch, record.switchover]).toEqual([
      true,
      'b',
      2,
      undefined,
    ]);
    expect(events.map(({ kind }) => kind)).toEqual(['volume.switchover_failed', 'volume.promoted']);
  });

  it('keeps every copy where it is meanwhile', () => {
    const replicas = [
      { nodeId: n('b'), state: 'live' },
      { nodeId: n('c'), state: 'live' },
    ] as const;
    const nodes = [OLD, volumeNode('b'), volumeNode('c')];
    const { record } = plan({ ...moving('stopping'), replicas, copies: 0 }, { nodes, users: () => 1 });
    expect(record.replicas).toHaveLength(2);
  });
});
