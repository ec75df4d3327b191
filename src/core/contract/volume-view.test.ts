import { expect, it } from 'vitest';
import { n, volumeSample } from '../../../test/support/samples/volume.ts';
import { volumeView } from './volume-view.ts';

it('shows why nothing newer comes to a copy, as its primary says', () => {
  const record = volumeSample({
    replicas: [
      { nodeId: n('b'), state: 'live' },
      { nodeId: n('c'), state: 'live' },
    ],
  });
  const problem = 'take_failed: No space left on device';
  const copies = [
    { nodeId: 'b', state: 'live', ageMs: 36_000, problem },
    { nodeId: 'c', state: 'live', ageMs: 500 },
  ] as const;
  const said = { volumeId: record.id, role: 'primary', epoch: 1, state: 'ready', measuredAt: '' } as const;
  expect(volumeView(record, undefined, { ...said, copies }).replicas).toEqual([
    { nodeId: 'b', state: 'live', lagSeconds: 36, problem },
    { nodeId: 'c', state: 'live', lagSeconds: 0.5 },
  ]);
});
