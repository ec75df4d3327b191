import { describe, expect, it } from 'vitest';
import type { AssignedVolume } from '../../core/protocol/agent-protocol.ts';
import { type LeaseState, mountStateOf, observationOf, receiverOf } from './report.ts';
import type { LaneState } from './steps.ts';
import type { OpenVolume } from './volume-engine.ts';

const KEPT = { id: 'vol_1', class: 'replicated', type: 'volume', epoch: 2, sizeBytes: 100 } as const;
const ORDER: AssignedVolume = { ...KEPT, role: 'primary', leaseMs: 1000 };
const REPLICA: AssignedVolume = { ...KEPT, role: 'replica' };
const volume: OpenVolume = {
  mount: { mountPoint: '/v/mnt', device: '7:1', source: '/dev/loop1', root: '/' },
  image: '/v/image',
  measure: () => Promise.reject(new Error('not asked')),
  shrinks: true,
  resize: () => Promise.resolve(),
  writable: () => Promise.resolve('/v/mnt/data-2'),
  copies: undefined,
};
const record = { id: 'vol_1', epoch: 2, role: 'primary', engine: 'btrfs' } as const;
const WRITING: LaneState = {
  record,
  hold: { kind: 'writing', volume, epoch: 2, source: '/v/mnt/data-2' },
  diverged: [],
};
const MOUNTED: LaneState = { ...WRITING, hold: { kind: 'mounted', volume } };
const trouble = { problem: { reason: 'volume_failed', message: 'm' }, times: 1 };

describe('what containers are given', () => {
  it.each<readonly [string, AssignedVolume, LaneState, LeaseState, string]>([
    ['it is written', ORDER, WRITING, 'valid', 'ready'],
    ['its lease ran out', ORDER, WRITING, 'over', 'lost volume_not_ready'],
    ['it waits for its first lease', ORDER, WRITING, 'none', 'waits volume_not_ready'],
    ['another is the primary', REPLICA, WRITING, 'valid', 'lost volume_not_primary'],
    ['it is to go', { ...KEPT, role: 'gone' }, WRITING, 'valid', 'lost volume_not_primary'],
    ['it is mounted, not more', ORDER, MOUNTED, 'valid', 'waits volume_not_ready'],
    ['it failed', ORDER, { ...MOUNTED, trouble }, 'valid', 'waits volume_failed'],
    ['it works in spite of a failure since', ORDER, { ...WRITING, trouble }, 'valid', 'ready'],
    [
      'it was prepared for an earlier epoch',
      { ...ORDER, epoch: 3 },
      WRITING,
      'valid',
      'waits volume_not_ready',
    ],
  ])('%s', (_case, order, state, lease, expected) => {
    const { kind, ...rest } = mountStateOf(order, state, lease);
    expect([kind, ...('reason' in rest ? [rest.reason] : [])].join(' ')).toBe(expected);
  });
});

describe('what is told', () => {
  it.each<readonly [string, AssignedVolume, Partial<LaneState>, LeaseState, object]>([
    ['ready', ORDER, {}, 'valid', { role: 'primary', epoch: 2, state: 'ready', shrinkable: true }],
    ['without its lease', ORDER, {}, 'over', { state: 'preparing' }],
    [
      'failed',
      ORDER,
      { hold: { kind: 'nothing' }, trouble },
      'valid',
      { state: 'failed', problem: trouble.problem },
    ],
    ['in trouble and ready', ORDER, { trouble }, 'valid', { state: 'ready', problem: trouble.problem }],
    [
      'too full to be made smaller',
      ORDER,
      { tooSmall: { sizeBytes: 1, usedBytes: 2, message: 'm' } },
      'valid',
      { state: 'ready', problem: { reason: 'volume_shrink_refused' } },
    ],
    [
      'of a copy',
      REPLICA,
      { copy: { epoch: 2, sequence: 3, takenAt: 't' } },
      'none',
      { copy: { sequence: 3 } },
    ],
    [
      'of an unread record',
      ORDER,
      { record: 'unread', hold: { kind: 'nothing' } },
      'none',
      { epoch: 2, state: 'preparing' },
    ],
    [
      'what was kept aside',
      REPLICA,
      { diverged: [{ epoch: 1, path: '/x', keptMs: 5 }] },
      'none',
      { diverged: [{ epoch: 1, path: '/x' }] },
    ],
    ['while it goes', { ...KEPT, role: 'gone' }, {}, 'valid', { role: 'primary', state: 'preparing' }],
  ])('%s', (_case, order, state, lease, expected) => {
    expect(observationOf(order, { ...WRITING, ...state }, lease)).toMatchObject(expected);
  });
});

describe('a copy from another node', () => {
  const kept: LaneState = { ...MOUNTED, record: { ...record, role: 'replica' } };
  it.each<readonly [string, AssignedVolume, LaneState, string, number, string | undefined]>([
    ['is taken', REPLICA, kept, 'btrfs', 2, undefined],
    ['is not for a primary', ORDER, kept, 'btrfs', 2, 'not_a_replica'],
    ['of an earlier epoch', REPLICA, kept, 'btrfs', 1, 'epoch_stale'],
    ['of an epoch that is not on disk yet', { ...REPLICA, epoch: 3 }, kept, 'btrfs', 3, 'epoch_stale'],
    ['of another engine', REPLICA, kept, 'rsync', 2, 'engine_differs'],
    ['before it is mounted', REPLICA, { ...kept, hold: { kind: 'nothing' } }, 'btrfs', 2, 'volume_not_ready'],
    [
      'after a failure',
      REPLICA,
      { ...kept, hold: { kind: 'nothing' }, trouble },
      'btrfs',
      2,
      'volume_failed',
    ],
  ])('%s', (_case, order, state, engine, epoch, expected) => {
    const answer = receiverOf(order, state, engine, epoch);
    expect('reason' in answer ? answer.reason : undefined).toBe(expected);
  });
});
