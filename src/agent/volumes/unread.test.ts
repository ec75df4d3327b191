import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { AssignedVolume } from '../../core/protocol/agent-protocol.ts';
import { makeLog } from '../log.ts';
import { KnownLeases } from './known-leases.ts';
import { VolumeLane } from './lane.ts';
import { type LeaseEntry, leaseFile, readLeases, writeLeases } from './lease-file.ts';
import { Leases } from './leases.ts';
import type { VolumeTools } from './steps.ts';
import type { VolumeEngine } from './volume-engine.ts';
import { VolumeMetadataFiles } from './volume-metadata.ts';

/** What is on the disk and cannot be read is not what was never there. A folder in place of a file cannot be read by root either. */
const folder = mkdtempSync(join(tmpdir(), 'berth-unread-'));
let count = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function dataDir(): string {
  count += 1;
  const dir = join(folder, String(count));
  mkdirSync(join(dir, 'volumes', 'vol_1'), { recursive: true });
  return dir;
}

function lease(volumeId: string, deadlineMs: number): LeaseEntry {
  const mountPoint = `/nowhere/${volumeId}`;
  return { volumeId, mountPoint, device: '7:1', source: '/dev/loop1', image: '/i', deadlineMs };
}

/** In place of the file, until what is answered is called. */
function unreadable(path: string): () => void {
  renameSync(path, `${path}.away`);
  mkdirSync(path);
  return () => {
    rmdirSync(path);
    renameSync(`${path}.away`, path);
  };
}

function recordOf(dir: string): string {
  return join(dir, 'volumes', 'vol_1', 'volume.json');
}

const KEPT = { id: 'vol_1', class: 'replicated', type: 'volume', epoch: 2, sizeBytes: 1 } as const;
const REPLICA: AssignedVolume = { ...KEPT, role: 'replica' };

/** Nothing is mounted: that an engine was asked to is enough. */
function laneIn(dir: string, order: AssignedVolume) {
  const open = vi.fn(() => Promise.reject(new Error('asked for')));
  const close = vi.fn(() => Promise.resolve(true));
  const engine = { name: 'fake', open, close } as unknown as VolumeEngine;
  const tools = {
    dataDir: dir,
    records: new VolumeMetadataFiles(dir),
    leases: new Leases(dir),
    engines: [engine],
    plain: { ...engine, name: 'plain' },
    inUse: () => false,
    onChange: () => undefined,
    onGone: () => undefined,
    log: makeLog('error', () => undefined),
  } as unknown as VolumeTools;
  return { lane: new VolumeLane(order, tools), leases: tools.leases, open };
}

describe('a volume whose record is there and cannot be read', () => {
  it.each(['replica', 'primary', 'gone'] as const)('is not used, and says so, as %s', async (role) => {
    const dir = dataDir();
    const path = recordOf(dir);
    const text = JSON.stringify({ id: 'vol_1', epoch: 7, role: 'primary', engine: 'fake' });
    writeFileSync(path, text);
    const again = unreadable(path);
    const { lane, open } = laneIn(dir, { ...KEPT, role });
    await lane.passed();
    const problem = { reason: 'volume_failed', message: expect.stringContaining(`${path} cannot be read`) };
    expect(lane.observation()).toMatchObject({ state: 'failed', problem });
    expect(open).not.toHaveBeenCalled();

    // By itself: what it knows holds again.
    again();
    await vi.waitFor(() => expect(lane.observation().problem?.reason).toBe('epoch_stale'), 5_000);
    expect(readFileSync(path, 'utf8')).toBe(text);
    await lane.end();
  });

  it.each(['', '{"epoch":', '[]'])('is damaged with %j in it', async (text) => {
    const dir = dataDir();
    writeFileSync(recordOf(dir), text);
    const { lane, open } = laneIn(dir, REPLICA);
    await lane.passed();
    expect(lane.observation().problem?.message).toBe(`${recordOf(dir)} is damaged`);
    expect([open.mock.calls, readFileSync(recordOf(dir), 'utf8')]).toEqual([[], text]);
    await lane.end();
  });
});

describe('leases that are on the disk and cannot be read', () => {
  it('keep replicated volumes from being used until they can, and are not written over', async () => {
    const dir = dataDir();
    await writeLeases(dir, [lease('vol_1', 5), lease('vol_2', 6)]);
    const again = unreadable(leaseFile(dir));
    const { lane, leases, open } = laneIn(dir, REPLICA);
    await leases.load();
    await lane.passed();
    expect(lane.observation().problem?.message).toContain('leases.json cannot be read');
    expect(open).not.toHaveBeenCalled();
    const plain = laneIn(dir, { ...KEPT, class: 'ephemeral', role: 'primary' });
    await plain.lane.passed();
    expect(plain.lane.observation().problem?.message).toBe('asked for');
    await plain.lane.end();

    again();
    await lane.passed();
    expect([leases.held('vol_1'), leases.held('vol_2')]).toMatchObject([
      { volumeId: 'vol_1' },
      { volumeId: 'vol_2' },
    ]);
    await lane.end();
  });

  it('are damaged without the boot they are of, and none without a file', async () => {
    const dir = dataDir();
    expect(await readLeases(dir)).toEqual([]);
    writeFileSync(leaseFile(dir), '{"leases":[');
    await expect(readLeases(dir)).rejects.toThrow('leases.json is damaged');
  });

  it('take nothing from a lease that came meanwhile', async () => {
    const dir = dataDir();
    await writeLeases(dir, [lease('vol_1', 5)]);
    const leases = new Leases(dir);
    await leases.extendSince(100, [{ id: 'vol_1', leaseMs: 50 }]);
    await leases.recall();
    expect(leases.deadlineMs('vol_1')).toBe(150);
  });

  it('hold on for the watchdog as they were read last, which tries on and says so once', async () => {
    const dir = dataDir();
    await writeLeases(dir, [lease('vol_1', 5)]);
    const told: string[] = [];
    const known = new KnownLeases(dir, (problem) => told.push(problem));
    expect(await known.look()).toMatchObject([{ deadlineMs: 5 }]);
    await writeLeases(dir, [lease('vol_1', 9)]);
    const again = unreadable(leaseFile(dir));
    for (let times = 0; times < 2; times += 1) {
      expect(await known.look()).toMatchObject([{ deadlineMs: 5 }]);
      expect(known.isUnsure).toBe(true);
    }
    expect(told).toEqual([expect.stringContaining('leases.json cannot be read')]);
    again();
    expect(await known.look()).toMatchObject([{ deadlineMs: 9 }]);
    expect(known.isUnsure).toBe(false);
  });

  it('are read by the watchdog again although the file is the same', async () => {
    const dir = dataDir();
    await writeLeases(dir, [lease('vol_1', 5)]);
    const read = vi.fn(readLeases).mockRejectedValueOnce(new Error('EIO'));
    const known = new KnownLeases(dir, () => undefined, read);
    expect([await known.look(), known.isUnsure]).toEqual([[], true]);
    expect(await known.look()).toMatchObject([{ deadlineMs: 5 }]);
    await known.look();
    expect(read).toHaveBeenCalledTimes(2);
    expect(await known.isFolderGone()).toBe(false);
    rmSync(dirname(leaseFile(dir)), { recursive: true });
    expect(await known.isFolderGone()).toBe(true);
  });
});
