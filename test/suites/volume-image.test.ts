import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BTRFS, type Filesystem } from '../../src/agent/volumes/filesystem.ts';
import { Image } from '../../src/agent/volumes/image.ts';
import { loopDevicesOf } from '../../src/agent/volumes/loop-device.ts';
import { removeWithMounts } from '../support/harness/mounts.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const MIB = 2 ** 20;
const BEFORE = 256 * MIB;
const GROWN = 320 * MIB;

ensurePackages(['btrfs-progs', 'mount']);

describe('the image of a volume', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-image-'));
  });

  afterEach(() => removeWithMounts(root));

  async function opened(grow: Filesystem['grow'] = BTRFS.grow): Promise<Image> {
    const image = new Image(root, { ...BTRFS, grow });
    await image.open(BEFORE, 'vol_1');
    return image;
  }

  const ended = (): never => {
    throw new Error('ended by a signal');
  };

  it('keeps what its file system took of a growth, although the program was ended', async () => {
    const image = await opened(async (mountPoint, device) => {
      await BTRFS.grow(mountPoint, device);
      ended();
    });
    await expect(image.resize(GROWN)).rejects.toThrow('ended by a signal');
    expect(await image.bytes()).toBe(GROWN);
    expect(await image.close()).toBe(true);
    await (await opened()).resize(GROWN);
    expect((await image.measure()).sizeBytes).toBe(GROWN);
  });

  it('is neither measured nor resized when its mount has gone: all that would be of the host', async () => {
    const image = await opened();
    execFileSync('umount', ['--lazy', image.mountPoint]);
    await expect(image.resize(BEFORE)).rejects.toThrow('is not mounted');
    expect(await image.bytes()).toBe(BEFORE);
  });

  it('gives back what its file system did not take', async () => {
    const image = await opened(ended);
    await expect(image.resize(GROWN)).rejects.toThrow('ended by a signal');
    expect(await image.bytes()).toBe(BEFORE);
    expect((await image.measure()).sizeBytes).toBe(BEFORE);
  });

  it.each([
    ['mounted', BEFORE],
    ['closed', GROWN],
  ])(
    'gets the end of its file back, was it cut below its file system, while it is %s',
    async (how, ordered) => {
      const image = await opened();
      await image.resize(GROWN);
      writeFileSync(join(image.mountPoint, 'file'), 'kept');
      if (how === 'closed') expect(await image.close()).toBe(true);
      truncateSync(image.file, BEFORE);
      const again = await opened();
      await again.resize(ordered);
      expect((await again.measure()).sizeBytes).toBe(GROWN);
      const { size, blocks } = statSync(image.file);
      expect(size).toBe(GROWN);
      expect(blocks * 512).toBeGreaterThanOrEqual(GROWN);
      expect(await image.close()).toBe(true);
      await opened();
      expect(readFileSync(join(image.mountPoint, 'file'), 'utf8')).toBe('kept');
    },
  );

  it('leaves no device where it cannot be mounted', async () => {
    const image = new Image(root, BTRFS);
    execFileSync('fallocate', ['--length', String(BEFORE), image.file]);
    await expect(image.open(BEFORE, 'vol_1')).rejects.toThrow('mount: ');
    expect(await loopDevicesOf(image.file)).toEqual([]);
  });
});
