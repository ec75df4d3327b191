import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  divergedIn,
  numbered,
  readTakenAt,
  removeTakenAt,
  renameAside,
  writeTakenAt,
} from './copy-folder.ts';
import { commonImage, type Image, type Measurement, sync } from './image.ts';
import { missingParts } from './missing.ts';
import type { Mount } from './mounts.ts';
import { run } from './program.ts';
import { Mirror } from './rsync-mirror.ts';
import { readParts, RSYNC, TREE_TIMEOUT_MS } from './rsync-parts.ts';
import {
  compareCopies,
  type Copy,
  type CopyName,
  copyText,
  type Diverged,
  isSameCopy,
  NothingKeptError,
  type OpenVolume,
  ParentMissingError,
  parseCopyName,
  type SnapshotCopies,
  type VolumeEngine,
  type VolumePlace,
} from './volume-engine.ts';

/** Every pass looks at every file twice. */
const LEAST_INTERVAL_MS = 5_000;
/** Beside the bytes of its files a copy lists them: more than the volume twice over is none of this volume's. */
const SPOOL_TIMES = 2;
const SPOOL_EXTRA_BYTES = 64 * 2 ** 20;

/**
 * For nodes whose kernel has no btrfs. A copy is what rsync finds changed against a mirror on the same node, the second time
 * while the file system is frozen, so that it is one moment; the receiver replays it on a tree of its own.
 */
export class RsyncEngine implements VolumeEngine {
  readonly name = 'rsync';
  readonly leastIntervalMs = LEAST_INTERVAL_MS;

  async missing(): Promise<string | undefined> {
    return await missingParts(['rsync', 'cp', 'fsfreeze', 'mkfs.ext4', 'resize2fs'], 'ext4');
  }

  async open({ id, folder }: VolumePlace, sizeBytes: number): Promise<OpenVolume> {
    const image = await commonImage(folder, sizeBytes);
    const mount = await image.open(sizeBytes, id);
    // Should the agent before this one have been killed while it was frozen.
    await run('fsfreeze', ['--unfreeze', image.mountPoint]).catch(() => {});
    await mkdir(join(image.mountPoint, 'copies'), { recursive: true, mode: 0o700 });
    return new RsyncVolume(image, mount, folder);
  }

  async close({ folder }: VolumePlace): Promise<boolean> {
    return await (await commonImage(folder, 0)).close();
  }
}

class RsyncVolume implements OpenVolume, SnapshotCopies {
  readonly mount: Mount;
  readonly image: string;
  readonly #image: Image;
  readonly #top: string;
  readonly #copies: string;
  readonly #spool: string;
  readonly #mirror: Mirror;

  constructor(image: Image, mount: Mount, folder: string) {
    this.#image = image;
    this.mount = mount;
    this.image = image.file;
    this.#top = image.mountPoint;
    this.#copies = join(this.#top, 'copies');
    this.#spool = join(folder, 'spool');
    this.#mirror = new Mirror(join(folder, 'mirror'), this.#top);
  }

  get copies(): SnapshotCopies {
    return this;
  }

  async measure(): Promise<Measurement> {
    return await this.#image.measure();
  }

  get shrinks(): boolean {
    return this.#image.shrinks;
  }

  async resize(sizeBytes: number): Promise<void> {
    await this.#image.resize(sizeBytes);
  }

  async writable(epoch: number, mustExist = false): Promise<string> {
    const path = this.#data(epoch);
    const received = await this.#received();
    const newest = received.at(-1);
    for (const before of (await numbered(this.#top, 'data')).toReversed()) {
      if (before === epoch) return path;
      if (before > epoch || (newest !== undefined && newest.epoch > before)) {
        await renameAside(this.#top, `data-${before}`, `aside-${before}`);
      } else {
        await rename(this.#data(before), path);
        return path;
      }
    }
    await this.#mirror.clear();
    if (newest === undefined && mustExist) throw new NothingKeptError();
    if (newest === undefined) {
      await mkdir(join(this.#top, 'new'), { recursive: true });
      // Containers run as any user; whom the files belong to is theirs to say.
      await chmod(join(this.#top, 'new'), 0o777);
      await rename(join(this.#top, 'new'), path);
      return path;
    }
    // Trees share files that did not change: only one of them may be written.
    for (const copy of received) if (!isSameCopy(copy, newest)) await this.#removeReceived(copy);
    await rename(this.#copy(newest), path);
    await removeTakenAt(this.#copies, newest);
    return path;
  }

  async demote(): Promise<void> {
    await this.#mirror.clear();
    for (const epoch of await numbered(this.#top, 'data')) {
      await renameAside(this.#top, `data-${epoch}`, `aside-${epoch}`);
    }
  }

  async list(): Promise<readonly Copy[]> {
    return [...(await this.#received()), ...(await this.#mirror.list())].toSorted(compareCopies);
  }

  async #received(): Promise<readonly Copy[]> {
    const found: Copy[] = [];
    for (const entry of await readdir(this.#copies)) {
      const name = parseCopyName(entry);
      if (name === undefined) continue;
      const takenAt = await readTakenAt(this.#copies, name);
      if (takenAt !== undefined) found.push({ ...name, takenAt });
    }
    return found.toSorted(compareCopies);
  }

  async take(epoch: number, last: CopyName | undefined): Promise<Copy | undefined> {
    const newest = (await this.list()).at(-1);
    const sequence = newest === undefined || newest.epoch < epoch ? 1 : newest.sequence + 1;
    return await this.#mirror.take(this.#data(epoch), { epoch, sequence }, last);
  }

  async send(copy: CopyName, parent: CopyName | undefined): ReturnType<SnapshotCopies['send']> {
    return await this.#mirror.send(copy, parent);
  }

  async receive(copy: Copy, parent: CopyName | undefined, stream: AsyncIterable<Uint8Array>): Promise<void> {
    const have = await this.#received();
    if (have.some((one) => isSameCopy(one, copy))) return;
    if (parent !== undefined && !have.some((one) => isSameCopy(one, parent))) {
      throw new ParentMissingError(`copy ${copyText(parent)} is not here`);
    }
    const incoming = join(this.#copies, 'incoming');
    try {
      const { sizeBytes } = await this.measure();
      const parts = await readParts(stream, this.#spool, SPOOL_TIMES * sizeBytes + SPOOL_EXTRA_BYTES);
      await rm(incoming, { recursive: true, force: true });
      if (parent === undefined) await mkdir(incoming);
      else await run('cp', ['--archive', '--link', this.#copy(parent), incoming], TREE_TIMEOUT_MS);
      for (const part of parts) {
        await run('rsync', [...RSYNC, `--read-batch=${part}`, `${incoming}/`], TREE_TIMEOUT_MS);
      }
      await run('sync', ['--file-system', this.#copies], TREE_TIMEOUT_MS);
      await rm(this.#copy(copy), { recursive: true, force: true });
      await rename(incoming, this.#copy(copy));
      await sync(this.#copies);
      await writeTakenAt(this.#copies, copy, copy.takenAt);
    } finally {
      await rm(this.#spool, { recursive: true, force: true });
      await rm(incoming, { recursive: true, force: true });
    }
    // What the present primary built on is not known here: what was written alone is kept.
    for (const epoch of await numbered(this.#top, 'aside')) {
      await renameAside(this.#top, `aside-${epoch}`, `diverged-${epoch}`);
    }
  }

  async drop(copy: CopyName): Promise<void> {
    await this.#mirror.drop(copy);
    await this.#removeReceived(copy);
  }

  async #removeReceived(copy: CopyName): Promise<void> {
    await removeTakenAt(this.#copies, copy);
    await rm(this.#copy(copy), { recursive: true, force: true });
  }

  async diverged(): Promise<readonly Diverged[]> {
    return await divergedIn(this.#top);
  }

  #data(epoch: number): string {
    return join(this.#top, `data-${epoch}`);
  }

  #copy(copy: CopyName): string {
    return join(this.#copies, copyText(copy));
  }
}
