import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AssignedVolume } from '../../core/protocol/agent-protocol.ts';
import { DivergenceAges } from './divergence-ages.ts';
import { divergenceRows } from './divergence-rows.ts';
import { VolumeLane } from './lane.ts';
import { mountAt } from './mounts.ts';
import { Volumes, type VolumesOptions } from './volumes.ts';
import type { Diverged, OpenVolume, SnapshotCopies, VolumeEngine } from './volume-engine.ts';
import type { VolumeState } from './state.ts';

const HOUR_MS = 3_600_000;
const log = { debug: () => {}, info: () => {}, warn: vi.fn(), error: () => {} };
const ONE = { epoch: 1, path: '/mnt/diverged-1' };
const TWO = { epoch: 2, path: '/mnt/diverged-2' };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'berth-diverged-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the age of a divergence', () => {
  let nowMs = 0;
  const ages = () => new DivergenceAges(folder, log, () => nowMs);
  const kept = async (of: DivergenceAges, ...found: readonly Diverged[]) =>
    (await of.of(found)).map(({ epoch, keptMs }) => [epoch, keptMs]);

  it('is the time that agents ran since it was first seen', async () => {
    nowMs = 5 * HOUR_MS;
    const first = ages();
    expect(await kept(first, ONE)).toEqual([[1, 0]]);
    nowMs += HOUR_MS;
    expect(await kept(first, ONE, TWO)).toEqual([
      [1, HOUR_MS],
      [2, 0],
    ]);
    // Another process: its clock begins anywhere, and nobody knows how long it was away.
    nowMs = 3;
    const next = ages();
    expect(await kept(next, ONE, TWO)).toEqual([
      [1, HOUR_MS],
      [2, 0],
    ]);
    nowMs += HOUR_MS;
    expect(await kept(next, TWO)).toEqual([[2, HOUR_MS]]);
    expect(JSON.parse(readFileSync(join(folder, 'diverged.json'), 'utf8'))).toEqual({
      'diverged-2': HOUR_MS,
    });
  });

  it.each(['', '[]', '{"diverged-1":"long"}', '{"diverged-1":-5}', '{"diverged-'])(
    'begins again where its file is damaged: %s',
    async (text) => {
      writeFileSync(join(folder, 'diverged.json'), text);
      expect(await kept(ages(), ONE)).toEqual([[1, 0]]);
    },
  );

  it('counts on where the file cannot be written', async () => {
    rmSync(folder, { recursive: true });
    const of = ages();
    await of.of([ONE]);
    nowMs += HOUR_MS;
    expect(await kept(of, ONE)).toEqual([[1, HOUR_MS]]);
    expect(log.warn).toHaveBeenCalled();
  });
});

const REPLICA: AssignedVolume = {
  id: 'vol_1',
  class: 'replicated',
  type: 'volume',
  sizeBytes: 100,
  role: 'replica',
  epoch: 2,
};

it('says what becomes of each', () => {
  const copy = { epoch: 2, sequence: 1, takenAt: '' };
  const diverged = [
    { ...ONE, keptMs: 30 * HOUR_MS },
    { ...TWO, keptMs: HOUR_MS },
  ];
  const state: VolumeState = { record: 'none', hold: { kind: 'mounted', volume: 'v' }, diverged };
  const rows = (more: Partial<VolumeState>, keepDivergedMs?: number) =>
    divergenceRows({
      order: REPLICA,
      state: { ...state, ...more },
      ...(keepDivergedMs !== undefined && { keepDivergedMs }),
    }).map(({ removed, message }) => [removed, message]);
  expect(rows({ copy }, 24 * HOUR_MS)).toEqual([
    [true, 'kept for 30 of 24 h'],
    [false, 'kept for 1 of 24 h'],
  ]);
  expect(rows({}, 24 * HOUR_MS)[0]).toEqual([
    false,
    "kept for 30 of 24 h, and no whole copy of the volume's present bytes is here yet",
  ]);
  expect(rows({ copy })[0]).toEqual([false, 'it is kept until somebody removes it (--clean-diverged off)']);
});

describe('a node that keeps divergences', () => {
  /** Of a volume in memory, at a place that is mounted on any machine. */
  async function holding(copyEpoch: number, keepDivergedMs: number, discard?: () => Promise<void>) {
    let left: readonly Diverged[] = [ONE, TWO];
    const proc = await mountAt('/proc');
    if (proc === undefined) throw new Error('no /proc');
    const mount = { ...proc };
    const copies = {
      demote: () => Promise.resolve(),
      list: () => Promise.resolve([{ epoch: copyEpoch, sequence: 1, takenAt: '' }]),
      diverged: () => Promise.resolve(left),
      discard: async ({ path }: Diverged) => {
        await discard?.();
        left = left.filter((one) => one.path !== path);
      },
    } as unknown as SnapshotCopies;
    const volume: OpenVolume = {
      mount,
      image: '/v/image',
      measure: () => Promise.resolve({ sizeBytes: 100, usedBytes: 1 }),
      shrinks: false,
      resize: () => Promise.resolve(),
      writable: () => Promise.reject(new Error('not asked')),
      copies,
    };
    const engine: VolumeEngine = {
      name: 'btrfs',
      leastIntervalMs: 0,
      missing: () => Promise.resolve(undefined),
      open: () => Promise.resolve(volume),
      close: () => Promise.resolve(true),
    };
    const onDiscarded = vi.fn();
    const volumes = new Volumes({
      dataDir: folder,
      engines: [engine],
      plain: { ...engine, name: 'plain' },
      copyIntervalMs: 1_000,
      keepDivergedMs,
      inUse: () => false,
      onChange: () => {},
      onNews: () => {},
      onDiscarded,
      log,
    } as unknown as VolumesOptions);
    volumes.assign([REPLICA]);
    await vi.waitFor(() => expect(volumes.observations()[0]?.state).toBe('ready'));
    // A replica is ready before it has looked what it keeps.
    const goesAtOnce = copyEpoch === 2 && keepDivergedMs === 0 && discard === undefined;
    if (!goesAtOnce) await vi.waitFor(() => expect(volumes.observations()[0]?.diverged).toHaveLength(2));
    return { volumes, onDiscarded, mount, left: () => left.map(({ epoch }) => epoch) };
  }

  it('removes them after their time, each told once', async () => {
    const { volumes, onDiscarded, left } = await holding(2, 0);
    await vi.waitFor(() => expect(onDiscarded).toHaveBeenCalledTimes(2));
    expect(left()).toEqual([]);
    expect(onDiscarded.mock.calls).toEqual([
      ['vol_1', { ...ONE, keptMs: 0 }],
      ['vol_1', { ...TWO, keptMs: 0 }],
    ]);
    await vi.waitFor(() => expect(volumes.observations()[0]?.diverged).toBeUndefined());
    await volumes.end();
  });

  it('keeps them before that, also when it is asked to clean', async () => {
    const { volumes, left } = await holding(2, HOUR_MS);
    const rows = await volumes.discardDue(false);
    expect(rows.map(({ epoch, removed }) => [epoch, removed])).toEqual([
      [1, false],
      [2, false],
    ]);
    expect(left()).toEqual([1, 2]);
    expect(volumes.observations()[0]?.diverged).toEqual([ONE, TWO]);
    await volumes.end();
  });

  it('keeps them while it has no whole copy of the present epoch', async () => {
    const { volumes, left } = await holding(1, 0);
    await volumes.discardDue(false);
    expect(left()).toEqual([1, 2]);
    await volumes.end();
  });

  it('works on with one that cannot be removed', async () => {
    const { volumes, onDiscarded, left } = await holding(2, 0, () => Promise.reject(new Error('busy')));
    const message = "kept for 0 of 0 h, and it could not be removed: see the agent's log";
    const rows = await volumes.discardDue(false);
    expect(rows.map((row) => [row.removed, row.message])).toEqual([
      [false, message],
      [false, message],
    ]);
    expect([left(), onDiscarded.mock.calls]).toEqual([[1, 2], []]);
    expect(volumes.observations()[0]?.state).toBe('ready');
    await volumes.end();
  });

  it('tries none of the others when the mount is gone', async () => {
    let lose = (): void => {};
    const discard = vi.fn(() => {
      lose();
      return Promise.reject(new Error('ENOENT'));
    });
    const { volumes, onDiscarded, mount } = await holding(2, 0, discard);
    await vi.waitFor(() => expect(discard).toHaveBeenCalledTimes(2));
    discard.mockClear();
    lose = () => {
      mount.mountPoint = '/nowhere';
    };
    await volumes.discardDue(false);
    expect([discard.mock.calls.length, onDiscarded.mock.calls]).toEqual([1, []]);
    await volumes.end();
  });

  it('does not wait for a volume of which nothing is due', async () => {
    const { volumes } = await holding(2, HOUR_MS);
    const passed = vi.spyOn(VolumeLane.prototype, 'passed').mockReturnValue(new Promise(() => {}));
    try {
      expect(await volumes.discardDue(false)).toHaveLength(2);
    } finally {
      passed.mockRestore();
    }
    await volumes.end();
  });
});
