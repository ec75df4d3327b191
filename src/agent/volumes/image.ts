import { mkdir, open, rename, rm, stat, statfs, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { commonFilesystem, type Filesystem } from './filesystem.ts';
import { holdersOf } from './holders.ts';
import { attachLoop, backingFileOf, loopDevicesOf, releaseLoop } from './loop-device.ts';
import { detach, type Mount, mountAt, mountDevice } from './mounts.ts';
import { run } from './program.ts';

const MAKE_TIMEOUT_MS = 120_000;
const RELEASE_MS = 10_000;
const LARGEST_BLOCK = 65_536;
const MOUNT_TRIES = 5;
/** Given once to a file system whose metadata has no room left (0141). */
const EXTRA_BYTES = 32 * 2 ** 20;

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
  #orderedBytes = 0;
  /** Changes of its size come one after the other. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(folder: string, filesystem: Filesystem) {
    this.#folder = folder;
    this.#filesystem = filesystem;
    this.file = join(folder, 'image');
    this.mountPoint = join(folder, 'mnt');
  }

  /** Made when it is not there, mounted when it is not: may be repeated after any crash. */
  async open(sizeBytes: number, label: string): Promise<Mount> {
    this.#orderedBytes = sizeBytes;
    await mkdir(this.mountPoint, { recursive: true, mode: 0o700 });
    const mounted = await mountAt(this.mountPoint);
    if (mounted !== undefined && (await this.#isOwn(mounted))) return mounted;
    if ((await this.bytes()) === undefined) await this.#make(sizeBytes, label);
    await this.#giveBackTail();
    await this.#fillHoles(this.file);
    const device = await this.#mount();
    // From now on it goes with its last mount, also when no agent runs.
    await releaseLoop(device);
    const mount = await mountAt(this.mountPoint);
    if (mount === undefined) throw new Error(`${this.mountPoint} is not mounted`);
    return mount;
  }

  /**
   * False: it was another file's, left by an agent that was killed (`#mount`), and is gone. What may be the only bytes of the volume stays: a mount
   * that a container has, or whose file was deleted or replaced meanwhile.
   */
  async #isOwn(mounted: Mount): Promise<boolean> {
    const isThere = (await this.bytes()) !== undefined;
    if (isThere && (await loopDevicesOf(this.file)).includes(mounted.source)) return true;
    const shown = (await backingFileOf(mounted.source)) ?? mounted.source;
    if (!isThere || shown.endsWith(' (deleted)') || (await holdersOf(mounted)).length > 0)
      throw new Error(
        `${this.mountPoint} shows ${shown} and not ${this.file}, which is ${isThere ? 'another file' : 'gone'}: save what is there, then unmount it`,
      );
    await detach(this.mountPoint);
    return false;
  }

  /**
   * A device that an earlier mount is about to give up is still found by the file, goes before it is mounted, and may be another file's by
   * then. Mounted it stays what it is: only that counts.
   */
  async #mount(): Promise<string> {
    const { type, mountOptions } = this.#filesystem;
    for (let attempt = 1; ; attempt += 1) {
      const device = await attachLoop(this.file);
      const failure = await mountDevice(device, this.mountPoint, type, mountOptions).then(
        () => undefined,
        (error: unknown) => error ?? 'failed',
      );
      let isOurs = false;
      try {
        isOurs = (await loopDevicesOf(this.file)).includes(device);
      } finally {
        if (failure === undefined && !isOurs) await detach(this.mountPoint);
      }
      if (failure === undefined && isOurs) return device;
      // Nothing else gives it up. One that is in use stays until it is not.
      if (isOurs) await releaseLoop(device);
      if (isOurs || attempt === MOUNT_TRIES)
        throw failure ?? new Error(`${device} was taken by another file before it was mounted`);
      await pause(50 * attempt);
    }
  }

  async #make(sizeBytes: number, label: string): Promise<void> {
    const unfinished = `${this.file}.new`;
    await rm(unfinished, { force: true });
    try {
      await run('fallocate', ['--length', String(sizeBytes), unfinished], MAKE_TIMEOUT_MS);
      await this.#filesystem.make(unfinished, label);
      await this.#fillHoles(unfinished);
      await sync(unfinished);
      await rename(unfinished, this.file);
      await sync(this.#folder);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  /** A file that was cut below its file system, by a growth that was cut off: it cannot be mounted. */
  async #giveBackTail(): Promise<void> {
    const held = await this.#filesystem.sizeOf?.(this.file);
    if (held !== undefined && held > ((await this.bytes()) ?? held)) await truncate(this.file, held);
  }

  /** A file system may have zeroed blocks, which takes them out of the file: they are allocated on the host again. */
  async #fillHoles(file: string): Promise<void> {
    const { size } = await stat(file);
    await run('fallocate', ['--length', String(size), file], MAKE_TIMEOUT_MS);
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

  get shrinks(): boolean {
    return this.#filesystem.shrink !== undefined;
  }

  /** Of what is mounted and in use, also when an earlier change was cut off after any of its steps. */
  async resize(sizeBytes: number): Promise<void> {
    this.#orderedBytes = sizeBytes;
    await this.#inTurn(() => this.#resize(sizeBytes));
  }

  /** A little beyond what was ordered, once. False: it has that already. */
  async extend(): Promise<boolean> {
    return await this.#inTurn(async () => {
      const before = (await this.bytes()) ?? 0;
      const wanted = Math.max(this.#orderedBytes + EXTRA_BYTES, this.#filesystem.leastGrownBytes);
      if (before === 0 || before >= wanted) return false;
      await this.#grow(before, wanted);
      return true;
    });
  }

  async #inTurn<T>(change: () => Promise<T>): Promise<T> {
    const turn = this.#changing.then(change, change);
    this.#changing = turn;
    return await turn;
  }

  async metadataRoom(): Promise<number | undefined> {
    return await this.#filesystem.metadataRoom?.(this.mountPoint);
  }

  async #resize(sizeBytes: number): Promise<void> {
    const before = (await this.bytes()) ?? 0;
    const wanted = Math.max(sizeBytes, this.#filesystem.leastGrownBytes);
    const { sizeBytes: held } = await this.measure();
    // The file was cut below its file system.
    const isCut = this.#filesystem.sizeOf !== undefined && held > before;
    if (sizeBytes > before || isCut) await this.#grow(before, isCut ? Math.max(wanted, held) : wanted);
    else if (wanted < before && this.shrinks && !(await this.#isExtra(before - wanted)))
      await this.#shrink(wanted);
    else if (this.#isHalfGrown(before, held)) await this.#grow(before, before);
  }

  /** What its metadata may have been given, which it goes on to need. */
  async #isExtra(bytes: number): Promise<boolean> {
    return bytes <= EXTRA_BYTES && (await this.metadataRoom()) !== undefined;
  }

  /** The file has its new size, and the file system did not take it. Less than a block may be left over. */
  #isHalfGrown(fileBytes: number, heldBytes: number): boolean {
    return this.#filesystem.showsWholeDevice && fileBytes - heldBytes >= LARGEST_BLOCK;
  }

  /** All of it, or nothing: where there is not enough room, what there is would be taken. */
  async #allocate(before: number, wanted: number): Promise<void> {
    await run('fallocate', ['--length', String(wanted), this.file], MAKE_TIMEOUT_MS).catch(
      async (error: unknown) => {
        await truncate(this.file, before);
        throw error;
      },
    );
  }

  async #grow(before: number, wanted: number): Promise<void> {
    if (wanted > before) await this.#allocate(before, wanted);
    const device = await this.#device();
    await run('losetup', ['--set-capacity', device]);
    const { sizeBytes: held } = await this.measure();
    try {
      await this.#filesystem.grow(this.mountPoint, device);
    } catch (error) {
      // What the file system did not take is given back: the size of the file is the size of the volume. A program that was ended may have done it all the same.
      if (held <= before && (await this.measure()).sizeBytes === held) {
        await truncate(this.file, before);
        await run('losetup', ['--set-capacity', device]);
      }
      throw error;
    }
  }

  /** The file system first: what it still has is never cut off. */
  async #shrink(wanted: number): Promise<void> {
    if (this.#filesystem.shrink === undefined) return;
    const device = await this.#device();
    try {
      await this.#filesystem.shrink(this.mountPoint, wanted);
    } catch (error) {
      const { usedBytes } = await this.measure();
      throw new ShrinkRefusedError(wanted, usedBytes, { cause: error });
    }
    if ((await this.measure()).sizeBytes > wanted) throw new Error(`${this.file} is not smaller than before`);
    await truncate(this.file, wanted);
    await run('losetup', ['--set-capacity', device]);
  }

  async #device(): Promise<string> {
    const [device] = await loopDevicesOf(this.file);
    if (device === undefined) throw new Error(`${this.file} is not mounted`);
    return device;
  }

  /** What `df` shows in a container. Fails where nothing is mounted: that would be of the host. */
  async measure(): Promise<Measurement> {
    const { bsize, blocks, bfree } = await statfs(this.mountPoint);
    // Afterwards: it may have gone meanwhile.
    if ((await mountAt(this.mountPoint)) === undefined) throw new Error(`${this.mountPoint} is not mounted`);
    return { sizeBytes: blocks * bsize, usedBytes: Math.max(0, blocks - bfree) * bsize };
  }

  /** False: a container still has it. Copies of our mounts that services of the host keep do not matter: nothing writes there. */
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

/** The bytes that are in use, and how they lie, leave no room to make it so small. Nothing has changed. */
export class ShrinkRefusedError extends Error {
  override readonly name = 'ShrinkRefusedError';
  readonly usedBytes: number;
  constructor(sizeBytes: number, usedBytes: number, options: ErrorOptions) {
    super(`it cannot be made as small as ${sizeBytes} bytes, ${usedBytes} are used`, options);
    this.usedBytes = usedBytes;
  }
}

/** Of a file system that every kernel knows. */
export async function commonImage(folder: string, sizeBytes: number): Promise<Image> {
  return new Image(folder, await commonFilesystem(join(folder, 'image'), sizeBytes));
}

export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
