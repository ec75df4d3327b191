import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { BtrfsEngine } from '../../src/agent/volumes/btrfs-engine.ts';
import { loopDevicesOf } from '../../src/agent/volumes/loop-device.ts';
import type * as Loops from '../../src/agent/volumes/loop-device.ts';
import { mountAt } from '../../src/agent/volumes/mounts.ts';
import type * as Mounts from '../../src/agent/volumes/mounts.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** Others on the machine take loop devices too. */

const LOSETUP = '/usr/sbin/losetup';
const SIZE = 128 * 2 ** 20;
const root = mkdtempSync(join(tmpdir(), 'berth-device-'));
const other = join(root, 'other');
/** Once: between its attachment and its mount the device becomes that of another file. */
let steal: ((device: string) => void) | undefined;
/** What devices show the image cannot be asked. */
let isUnknown = false;

vi.mock('../../src/agent/volumes/mounts.ts', async (original) => {
  const mounts = await original<typeof Mounts>();
  return {
    ...mounts,
    mountDevice: (...args: Parameters<typeof mounts.mountDevice>) => {
      const stealing = steal;
      steal = undefined;
      stealing?.(args[0]);
      return mounts.mountDevice(...args);
    },
  };
});

vi.mock('../../src/agent/volumes/loop-device.ts', async (original) => {
  const loops = await original<typeof Loops>();
  return {
    ...loops,
    loopDevicesOf: (image: string) =>
      isUnknown ? Promise.reject(new Error('losetup failed')) : loops.loopDevicesOf(image),
  };
});

beforeAll(() => {
  ensurePackages(['btrfs-progs', 'mount']);
  execFileSync('fallocate', ['--length', String(SIZE), other]);
  execFileSync('/usr/sbin/mkfs.btrfs', ['--quiet', other]);
});
afterAll(async () => {
  for (const device of await loopDevicesOf(other)) execFileSync(LOSETUP, ['--detach', device]);
  rmSync(root, { recursive: true, force: true });
});

it.each([
  ['is taken by another file', (device: string) => execFileSync(LOSETUP, [device, other])],
  ['goes', () => undefined],
])('mounts its own bytes also when its device %s before it is mounted', async (_case, next) => {
  const place = { id: 'vol_1', folder: mkdtempSync(join(root, 'volume-')) };
  mkdirSync(place.folder, { recursive: true });
  steal = (device) => {
    execFileSync(LOSETUP, ['--detach', device]);
    next(device);
  };
  const engine = new BtrfsEngine();
  const volume = await engine.open(place, SIZE);
  try {
    expect(steal).toBeUndefined();
    expect(await loopDevicesOf(volume.image)).toEqual([volume.mount.source]);
  } finally {
    expect(await engine.close(place)).toBe(true);
  }
});

function place() {
  return { id: 'vol_1', folder: mkdtempSync(join(root, 'volume-')) };
}

const sourceAt = async (folder: string) => (await mountAt(join(folder, 'mnt')))?.source;

it('takes away what is mounted in its place, and mounts its own bytes', async () => {
  const engine = new BtrfsEngine();
  const { id, folder } = place();
  await engine.open({ id, folder }, SIZE);
  expect(await engine.close({ id, folder })).toBe(true);
  execFileSync('/usr/bin/mount', ['-o', 'loop', other, join(folder, 'mnt')]);
  const volume = await engine.open({ id, folder }, SIZE);
  try {
    expect(await loopDevicesOf(volume.image)).toEqual([volume.mount.source]);
    expect(await sourceAt(folder)).toBe(volume.mount.source);
  } finally {
    expect(await engine.close({ id, folder })).toBe(true);
  }
});

it('leaves nothing mounted that it could not compare, and takes nothing away that was mounted before', async () => {
  const engine = new BtrfsEngine();
  const { id, folder } = place();
  steal = () => {
    isUnknown = true;
  };
  try {
    await expect(engine.open({ id, folder }, SIZE)).rejects.toThrow('losetup failed');
    expect(await sourceAt(folder)).toBeUndefined();
    isUnknown = false;
    const { mount } = await engine.open({ id, folder }, SIZE);
    isUnknown = true;
    await expect(engine.open({ id, folder }, SIZE)).rejects.toThrow('losetup failed');
    expect(await sourceAt(folder)).toBe(mount.source);
  } finally {
    isUnknown = false;
    expect(await engine.close({ id, folder })).toBe(true);
  }
});

it.each([
  ['deleted', (image: string) => rmSync(image)],
  [
    'replaced',
    (image: string) => {
      rmSync(image);
      copyFileSync(other, image);
    },
  ],
])('keeps what is mounted when its file was %s: the bytes are nowhere else', async (_case, change) => {
  const engine = new BtrfsEngine();
  const { id, folder } = place();
  const { mount, image } = await engine.open({ id, folder }, SIZE);
  try {
    change(image);
    await expect(engine.open({ id, folder }, SIZE)).rejects.toThrow(`${image} (deleted)`);
    expect(await sourceAt(folder)).toBe(mount.source);
  } finally {
    expect(await engine.close({ id, folder })).toBe(true);
  }
});
