import { describe, expect, it } from 'vitest';
import { nextForVolume } from './commands/describe-volume.ts';
import {
  lagText,
  recommendedText,
  sizeOf,
  volumeConsumers,
  volumeCopiesText,
  volumeUsedText,
} from './volumes.ts';

const GIB = 2 ** 30;

describe('what is said of a volume', () => {
  it.each([
    [{ usedBytes: null, sizeBytes: GIB }, '-'],
    [{ usedBytes: 0, sizeBytes: GIB }, '0 B (0 %)'],
    [{ usedBytes: GIB / 2, sizeBytes: GIB }, '512 MiB (50 %)'],
    [{ usedBytes: 5 }, '5 B'],
  ])('used: %o', (volume, text) => expect(volumeUsedText(volume)).toBe(text));

  it('counts live copies only, and says nothing of a class without', () => {
    const replicas = [{ state: 'live' }, { state: 'syncing' }, { state: 'failed' }];
    expect(volumeCopiesText({ class: 'replicated', wantedReplicas: 3, replicas })).toBe('1/3 live');
    expect(volumeCopiesText({ class: 'ephemeral', wantedReplicas: 0, replicas: [] })).toBe('-');
  });

  it('names who mounts it, and who only reads', () =>
    expect(
      volumeConsumers({
        consumers: [
          { deployment: 'pg', readOnly: false },
          { job: 'dump', readOnly: true },
        ],
      }),
    ).toEqual(['deployment/pg', 'job/dump (reads)']));

  it('tells an unknown lag from none', () =>
    expect([{ lagSeconds: null }, { lagSeconds: 0 }, { lagSeconds: 0.9 }].map(lagText)).toEqual([
      '-',
      '0 s',
      '0.9 s',
    ]));
});

describe('what a recommendation would do', () => {
  it.each([
    [{ applicable: true, parameters: { target_replicas: 1 } }, 'keep 1 copy'],
    [{ applicable: true, parameters: { target_replicas: 2 } }, 'keep 2 copies'],
    [{ applicable: true, parameters: { target_size_bytes: 20 * GIB } }, 'resize to 20 GiB'],
    [{ applicable: false, parameters: { target_replicas: 2 } }, 'keep 2 copies (not possible now)'],
    [{ applicable: false, parameters: {} }, 'yours to do'],
    [{}, 'yours to do'],
  ])('%o', (recommendation, text) => expect(recommendedText(recommendation)).toBe(text));
});

describe('the command that is useful next', () => {
  const ready = { name: 'data', id: 'vol_1', phase: 'Ready', class: 'replicated', wantedReplicas: 1 };
  it.each([
    [ready, 'mount it'],
    [{ ...ready, consumers: [{ deployment: 'pg' }] }, 'recommendation list'],
    [{ ...ready, wantedReplicas: 0 }, 'add-replica data'],
    [{ ...ready, replicas: [{ state: 'failed' }] }, 'recommendation list'],
    [{ ...ready, phase: 'Pending' }, 'get nodes'],
    [{ ...ready, phase: 'Deleting' }, '--watch'],
  ])('%o', (volume, text) => expect(nextForVolume(volume)).toContain(text));
});

describe('a size', () => {
  it.each([
    ['10Gi', 10 * GIB],
    ['134217728', 134217728],
  ])('%s', (text, bytes) => expect(sizeOf('--size', text)).toBe(bytes));
  it.each(['', 'lots', '-1', '1GB', '1e9'])('%j is refused', (text) =>
    expect(() => sizeOf('--size', text)).toThrow('expected an amount'),
  );
});
