import { mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { holdersOf } from './holders.ts';
import { attachLoop, loopDevicesOf, releaseLoop } from './loop-device.ts';
import { detach, type Mount, mountAt, mountDevice } from './mounts.ts';
import { run } from './program.ts';

const MAKE_TIMEOUT_MS = 120_000;
const RELEASE_MS = 10_000;

export interface Filesystem {
  readonly type: 'btrfs' | 'ext4';
  readonly mountOptions: readonly string[];
  make(image: string, label: string): Promise<void>;
  /** Below this it cannot be resized: a smaller one grows at least to this. */
  readonly leastGrownBytes: number;
  /** To the size of its device, while it is in use. */
  grow(mountPoint: string, device: string): Promise<void>;
}

export interface Measurement {
  readonly sizeBytes: number;
  readonly usedBytes: number;
}

/**
 * A file of fixed size with a file system in it. Its blocks are taken from the host at once: a file with holes would lose
 * what was written when the host's disk is full. Kept in one folder: `image`, and where it is mounted, `mnt`.
 */
export class Image {
  readonly file: string;
  readonly mountPoint: string;
  readonly #folder: string;
  readonly #filesystem: Filesystem;

  constructor(folder: string, filesystem: Filesystem) {
    this.#folder = folder;
    this.#filesystem = filesystem;
    this.file = join(folder, 'image');
    this.mountPoint = join(folder, 'mnt');
  }

  /** Made when it is not there, mounted when it is not: may be repeated after any crash. */
  async open(sizeBytes: number, label: string): Promise<Mount> {
    await mkdir(this.mountPoint, { recursive: true, mode: 0o700 });
    if ((await this.bytes()) === undefined) await this.#make(sizeBytes, label);
    const mounted = await mountAt(this.mountPoint);
    if (mounted !== undefined) return mounted;
    const device = await attachLoop(this.file);
    await mountDevice(device, this.mountPoint, this.#filesystem.type, this.#filesystem.mountOptions);
    // From now on it goes with its last mount, also when nobody is left to take care of that.
    await releaseLoop(device);
    const mount = await mountAt(this.mountPoint);
    if (mount === undefined) throw new Error(`${this.mountPoint} is not mounted`);
    return mount;
  }

  async #make(sizeBytes: number, label: string): Promise<void> {
    const unfinished = `${this.file}.new`;
    await rm(unfinished, { force: true });
    try {
      await run('fallocate', ['--length', String(sizeBytes), unfinished], MAKE_TIMEOUT_MS);
      await this.#filesystem.make(unfinished, label);
      await sync(unfinished);
      await rename(unfinished, this.file);
      await sync(this.#folder);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  /** Undefined: there is none. */
  async bytes(): Promise<number | undefined> {
    return await stat(this.file).then(
      ({ size }) => size,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      },
    );
  }

  /** Of what is mounted, also when an earlier growth was cut off after any of its steps. Never shrinks. */
  async grow(sizeBytes: number): Promise<void> {
    const wanted = Math.max(sizeBytes, this.#filesystem.leastGrownBytes);
    const before = (await this.bytes()) ?? 0;
    if (wanted > before) await run('fallocate', ['--length', String(wanted), this.file], MAKE_TIMEOUT_MS);
    const [device] = await loopDevicesOf(this.file);
    if (device === undefined) throw new Error(`${this.file} is not mounted`);
    await run('losetup', ['--set-capacity', device]);
    await this.#filesystem.grow(this.mountPoint, device);
  }

  async measure(): Promise<Measurement> {
    const sizeBytes = (await this.bytes()) ?? 0;
    const { bsize, blocks, bfree } = await statfs(this.mountPoint);
    return { sizeBytes, usedBytes: Math.max(0, blocks - bfree) * bsize };
  }

  /** False: a container still has it. Copies of our mounts that services of the host keep do not matter: nobody writes there. */
  async close(): Promise<boolean> {
    const mount = await mountAt(this.mountPoint);
    await detach(this.mountPoint);
    if (mount === undefined) return true;
    for (const deadline = performance.now() + RELEASE_MS; ; ) {
      if ((await holdersOf(mount)).length === 0) return true;
      if (performance.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export const EXT4: Filesystem = {
  type: 'ext4',
  mountOptions: [],
  leastGrownBytes: 0,
  // No blocks kept for root: the volume is its tenant's. No discards: they would punch holes into the file.
  make: async (image, label) => {
    const args = ['-q', '-F', '-m', '0', '-E', 'nodiscard', '-L', label.slice(0, 16), image];
    await run('mkfs.ext4', args, MAKE_TIMEOUT_MS);
  },
  grow: async (_mountPoint, device) => {
    await run('resize2fs', [device], MAKE_TIMEOUT_MS);
  },
};

export const BTRFS: Filesystem = {
  type: 'btrfs',
  mountOptions: ['nodiscard'],
  leastGrownBytes: 256 * 2 ** 20,
  make: async (image, label) => {
    const args = ['--quiet', '--nodiscard', '--metadata', 'single', '--data', 'single', '--label', label];
    await run('mkfs.btrfs', [...args, image], MAKE_TIMEOUT_MS);
  },
  grow: async (mountPoint) => {
    await run('btrfs', ['filesystem', 'resize', 'max', mountPoint], MAKE_TIMEOUT_MS);
  },
};
