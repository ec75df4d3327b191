import { describe, expect, it } from 'vitest';
import { type MeasuredVolume, recommend } from './recommendations.ts';
import { n, volumeSample } from '../../../../test/support/samples/volume.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const DAY_MS = 86_400_000;
const live = { nodeId: n('b'), state: 'live' } as const;
/** Nothing is wrong with it. */
const sound = volumeSample({ copies: 1, replicas: [live] });

function told(volumes: readonly MeasuredVolume[], enrolledNodes = 3) {
  return recommend({ volumes, enrolledNodes, digest: (text) => text }).map(
    ({ id, type, priority, applicable, parameters }) => ({ id, type, priority, applicable, parameters }),
  );
}

const one = (volume: MeasuredVolume, enrolledNodes?: number) => told([volume], enrolledNodes)[0];

describe('recommendations', () => {
  it('are none for a volume that is well, and none for one that goes', () => {
    expect(told([{ record: sound, usedBytes: 0.5 * GIB }])).toEqual([]);
    expect(told([{ record: volumeSample({ phase: 'Deleting' }), usedBytes: GIB }])).toEqual([]);
  });

  it('ask for a copy where none is live, and say when there are too few nodes for one', () => {
    const record = volumeSample();
    expect(one({ record })).toEqual({
      id: 'rec_vol_1/replication/set_replicas',
      type: 'replication',
      priority: 'high',
      applicable: true,
      parameters: { action: 'set_replicas', target_replicas: 1 },
    });
    expect(one({ record }, 2)?.applicable).toBe(true);
    expect(one({ record }, 1)?.applicable).toBe(false);
    const syncing = volumeSample({ copies: 2, replicas: [{ ...live, state: 'syncing' }] });
    expect(one({ record: syncing })?.parameters.target_replicas).toBe(2);
    expect(told([{ record: volumeSample({ class: 'ephemeral' }) }])).toEqual([]);
  });

  it('are urgent about a copy that failed, also beside a live one', () => {
    const record = volumeSample({ copies: 2, replicas: [live, { nodeId: n('c'), state: 'failed' }] });
    expect(one({ record })).toMatchObject({ priority: 'critical', parameters: { target_replicas: 2 } });
    // The same id as without the failure: it is of volume, type and action.
    expect(one({ record })?.id).toBe(one({ record: volumeSample() })?.id);
  });

  it.each([
    [0.85 * GIB - 1, undefined, undefined],
    [0.85 * GIB, 'high', 1472 * MIB],
    [0.95 * GIB - 1, 'high', 1664 * MIB],
    [0.95 * GIB, 'critical', 1664 * MIB],
    [GIB, 'critical', 1728 * MIB],
  ])('ask for room at %d of a GiB: %s', (usedBytes, priority, target) => {
    const found = one({ record: sound, usedBytes: Math.ceil(usedBytes) });
    expect([found?.priority, found?.parameters.target_size_bytes]).toEqual([priority, target]);
  });

  it('would give room back of more than a GiB that is used by less than a fifth', () => {
    const record = { ...sound, sizeBytes: 10 * GIB };
    expect(one({ record, usedBytes: 2 * GIB - 1, shrinkable: true })).toMatchObject({
      priority: 'low',
      applicable: true,
      parameters: { action: 'resize', target_size_bytes: 4 * GIB },
    });
    expect(one({ record, usedBytes: 2 * GIB - 1 })?.applicable).toBe(false);
    expect(one({ record, usedBytes: 2 * GIB })).toBeUndefined();
    expect(one({ record, usedBytes: 0 })?.parameters.target_size_bytes).toBe(256 * MIB);
    // What is there counts, not what was asked for: it could not be made smaller before.
    expect(one({ record: sound, sizeBytes: 10 * GIB, usedBytes: GIB })?.priority).toBe('low');
    expect(one({ record: sound, usedBytes: 0 })).toBeUndefined();
    expect(one({ record })).toBeUndefined();
  });

  it('offer no more than four times the size, whatever a node says of itself', () => {
    const lie = { record: sound, sizeBytes: 2 ** 50, usedBytes: 2 ** 50 };
    expect(one(lie)).toMatchObject({
      priority: 'critical',
      applicable: false,
      parameters: { target_size_bytes: 4 * GIB },
    });
  });

  it('never offer to delete what nothing has mounted for a week', () => {
    const record = { ...sound, unmountedSince: '2026-01-01T00:00:00.000Z' };
    expect(one({ record, unmountedForMs: 7 * DAY_MS - 1 })).toBeUndefined();
    expect(one({ record, unmountedForMs: 7 * DAY_MS })).toEqual({
      id: 'rec_vol_1/cleanup/',
      type: 'cleanup',
      priority: 'low',
      applicable: false,
      parameters: {},
    });
  });

  it('come in the order of their urgency', () => {
    const crowded = { record: { ...sound, id: 'vol_2' as never }, usedBytes: GIB };
    const kinds = told([{ record: volumeSample() }, crowded, { record: sound, unmountedForMs: 8 * DAY_MS }]);
    expect(kinds.map(({ priority }) => priority)).toEqual(['critical', 'high', 'low']);
  });
});
