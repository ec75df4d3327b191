import { closeSync, mkdtempSync, openSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BtrfsEngine } from '../../src/agent/volumes/btrfs-engine.ts';
import type { Copy, OpenVolume } from '../../src/agent/volumes/volume-engine.ts';
import { makeApart } from '../support/harness/apart-image.ts';
import { removeWithMounts } from '../support/harness/mounts.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const MIB = 2 ** 20;
const SIZE = 400 * MIB;

ensurePackages(['btrfs-progs', 'mount']);

describe('a volume whose room data takes at once', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-metadata-'));
  });

  afterEach(() => removeWithMounts(root));

  interface Filled {
    readonly volume: OpenVolume;
    readonly take: () => Promise<Copy | undefined>;
    /** As a container makes a file. */
    readonly create: (name: string) => void;
  }

  /** 60 MiB are in a copy, and 230 other ones are written in their place: three quarters of the volume. */
  async function filled(): Promise<Filled> {
    const volume = await new BtrfsEngine().open({ id: 'vol_1', folder: root }, SIZE);
    const data = await volume.writable(1);
    const take = async (): Promise<Copy | undefined> => await volume.copies?.take(1, undefined);
    const rewrite = (mebibytes: number): void => {
      writeFileSync(join(data, 'large'), Buffer.alloc(mebibytes * MIB), { flush: true });
    };
    rewrite(60);
    await take();
    rewrite(230);
    return { volume, take, create: (name) => closeSync(openSync(join(data, name), 'w')) };
  }

  it('goes on with copies and files', async () => {
    const { volume, take, create } = await filled();
    create('one');
    expect(await take()).toMatchObject({ sequence: 2 });
    expect(statSync(volume.image).size).toBe(SIZE);
  });

  it('is given a little more, once, where it was made with metadata apart', async () => {
    makeApart(root, SIZE);
    const { volume, take, create } = await filled();
    expect(() => create('one')).toThrow('ENOSPC');
    expect(await take()).toMatchObject({ sequence: 2 });
    create('two');
    const extended = SIZE + 32 * MIB;
    // It stays, and is part of what it grows to.
    for (const [ordered, size] of [
      [SIZE, extended],
      [SIZE + 16 * MIB, extended],
      [SIZE + 100 * MIB, SIZE + 100 * MIB],
    ] as const) {
      await volume.resize(ordered);
      expect(statSync(volume.image).size).toBe(size);
      expect((await volume.measure()).sizeBytes).toBe(size);
    }
  });
});
