import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import {
  divergedIn,
  numbered,
  readTakenAt,
  removeTakenAt,
  renameAside,
  writeTakenAt,
} from './copy-folder.ts';
import { COPY } from './confinement.ts';
import { Discards } from './discards.ts';
import { GivenNames } from './given-names.ts';
import { commonImage, type Image, type Measurement, sync } from './image.ts';
import { missingParts } from './missing.ts';
import type { Mount } from './mounts.ts';
import { run } from './program.ts';
import { Interruptible } from './interruptible.ts';
import { Receiving } from './receiving.ts';
import { oldRsync } from './rsync-version.ts';
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

/** Every pass reads every file twice. */
const LEAST_INTERVAL_MS = 5_000;
/** Beside the bytes of its files a copy lists them: more than the volume twice over is none of this volume's. */
const SPOOL_TIMES = 2;
const SPOOL_EXTRA_BYTES = 64 * 2 ** 20;
/** Its own limit for parts of it that wait for each other. */
const REPLAY = [...RSYNC, '--timeout=600', '--read-batch=-', `${COPY}/`];

/**
 * For nodes whose kernel has no btrfs. A copy is what rsync finds changed against a mirror on the same node, the second time
 * while the file system is frozen, so that it is one moment; the receiver replays it on a tree of its own.
 */
export class RsyncEngine implements VolumeEngine {
  readonly name = 'rsync';
  readonly leastIntervalMs = LEAST_INTERVAL_MS;
  readonly #receiving: Receiving;
  readonly #discards: Discards;

  constructor({ heldMs, log }: { readonly heldMs?: number; readonly log?: Log } = {}) {
    this.#discards = new Discards(log);
    this.#receiving = new Receiving({ program: 'rsync', trial: ['--version'], unfit: oldRsync, heldMs });
  }

  async cannotReceive(): Promise<string | undefined> {
    return await this.#receiving.problem();
  }

  async missing(): Promise<string | undefined> {
    return await missingParts(['rsync', 'cp', 'fsfreeze', 'mkfs.ext4', 'resize2fs'], 'ext4');
  }

  async open({ id, folder }: VolumePlace, sizeBytes: number): Promise<OpenVolume> {
    const image = await commonImage(folder, sizeBytes);
    const mount = await image.open(sizeBytes, id);
    // Should the agent before this one have been killed while it was frozen.
    await run('fsfreeze', ['--unfreeze', image.mountPoint]).catch(() => {});
    await mkdir(join(image.mountPoint, 'copies'), { recursive: true, mode: 0o700 });
    await this.#discards.resume(image.mountPoint);
    return new RsyncVolume(image, mount, folder, this.#receiving, this.#discards);
  }

  async close({ folder }: VolumePlace): Promise<boolean> {
    const image = await commonImage(folder, 0);
    this.#discards.end(image.mountPoint);
    return await image.close();
  }

  end(): void {
    this.#discards.end();
  }
}

class RsyncVolume implements OpenVolume, SnapshotCopies {
  readonly keepsTwo = true;
  readonly mount: Mount;
  readonly image: string;
  readonly #image: Image;
  readonly #top: string;
  readonly #copies: string;
  readonly #spool: string;
  readonly #given: GivenNames;
  readonly #mirror: Mirror;
  readonly #folder: string;
  readonly #receiving: Receiving;
  readonly #discards: Discards;
  readonly #incomingCopy = new Interruptible();

  constructor(image: Image, mount: Mount, folder: string, receiving: Receiving, discards: Discards) {
    this.#folder = folder;
    this.#receiving = receiving;
    this.#discards = discards;
    this.#image = image;
    this.mount = mount;
    this.image = image.file;
    this.#top = image.mountPoint;
    this.#copies = join(this.#top, 'copies');
    this.#spool = join(folder, 'spool');
    this.#given = new GivenNames(folder);
    this.#mirror = new Mirror(join(folder, 'mirror'), this.#top, this.#given);
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
    // Trees share files: the one must be unused while the other becomes what containers write.
    await this.#incomingCopy.end();
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
    const name = await this.#given.next(epoch, (await this.list()).at(-1), last);
    return await this.#mirror.take(this.#data(epoch), name, last);
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
    await this.#incomingCopy.during(async (signal) => {
      try {
        await this.#build(copy, parent, stream, signal);
      } finally {
        await remove(this.#spool);
        await remove(this.#incoming);
      }
    });
    // What the present primary built on is not known here: what was written alone is kept.
    for (const epoch of await numbered(this.#top, 'aside')) {
      await renameAside(this.#top, `aside-${epoch}`, `diverged-${epoch}`);
    }
  }

  async #build(
    copy: Copy,
    parent: CopyName | undefined,
    stream: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const { sizeBytes } = await this.measure();
    const maxBytes = SPOOL_TIMES * sizeBytes + SPOOL_EXTRA_BYTES;
    const parts = await readParts(stream, this.#spool, maxBytes, signal);
    await remove(this.#incoming);
    if (parent === undefined) await mkdir(this.#incoming);
    else await run('cp', ['--archive', '--link', this.#copy(parent), this.#incoming], TREE_TIMEOUT_MS);
    for (const part of parts) {
      await this.#receiving.run(REPLAY, createReadStream(part), this.#incoming, this.#folder, signal);
    }
    await run('sync', ['--file-system', this.#copies], TREE_TIMEOUT_MS);
    signal.throwIfAborted();
    await remove(this.#copy(copy));
    await rename(this.#incoming, this.#copy(copy));
    await sync(this.#copies);
    await writeTakenAt(this.#copies, copy, copy.takenAt);
  }

  async drop(copy: CopyName): Promise<void> {
    await this.#mirror.drop(copy);
    await this.#removeReceived(copy);
  }

  async #removeReceived(copy: CopyName): Promise<void> {
    await removeTakenAt(this.#copies, copy);
    await remove(this.#copy(copy));
  }

  async diverged(): Promise<readonly Diverged[]> {
    return await divergedIn(this.#top);
  }

  async discard({ path }: Diverged): Promise<void> {
    await this.#discards.discard(path);
  }

  get #incoming(): string {
    return join(this.#copies, 'incoming');
  }

  #data(epoch: number): string {
    return join(this.#top, `data-${epoch}`);
  }

  #copy(copy: CopyName): string {
    return join(this.#copies, copyText(copy));
  }
}

/** Names need not be text: they are a tenant's. */
async function remove(path: string): Promise<void> {
  await run('rm', ['--recursive', '--force', '--', path], TREE_TIMEOUT_MS);
}
