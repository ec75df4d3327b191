import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { BtrfsEngine } from '../../src/agent/volumes/btrfs-engine.ts';
import { loopDevicesOf } from '../../src/agent/volumes/loop-device.ts';
import type * as Mounts from '../../src/agent/volumes/mounts.ts';
import { ensurePackages } from '../support/harness/packages.ts';

/** Others on the machine take loop devices too. */

const LOSETUP = '/usr/sbin/losetup';
const SIZE = 128 * 2 ** 20;
const root = mkdtempSync(join(tmpdir(), 'berth-device-'));
const other = join(root, 'other');
/** Once: between its attachment and its mount the device becomes that of another file. */
let steal: ((device: string) => void) | undefined;

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
