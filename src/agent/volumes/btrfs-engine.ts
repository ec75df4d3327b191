import { bytesOf } from '../bytes.ts';
import { chmod, mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import {
  divergedIn,
  numbered,
  readTakenAt,
  removeTakenAt,
  renameAside,
  writeTakenAt,
} from './copy-folder.ts';
import { BtrfsExchange } from './btrfs-exchange.ts';
import { BTRFS } from './filesystem.ts';
import { GivenNames } from './given-names.ts';
import { Image, type Measurement } from './image.ts';
import { Interruptible } from './interruptible.ts';
import { MetadataRoom } from './metadata-room.ts';
import type { Mount } from './mounts.ts';
import { missingParts } from './missing.ts';
import { outputOf, run } from './program.ts';
import { Receiving } from './receiving.ts';
import { btrfs, isReadOnly, subvolume } from './subvolumes.ts';
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

/** A stream that only says which snapshot it makes from which: 106 bytes and the name. */
const EMPTY_STREAM_BYTES = 200;
/** Of a volume that is written all the time, only so many takes check first whether it was. */
const CHECK_EVERY = 4;
/** Above these shares of its size the room of what was dropped is asked for: where a copy is kept, and nobody waits for that, and anywhere. */
const TIGHT_COPY = 0.5;
const TIGHT = 0.75;
/** A large snapshot is taken apart for seconds. */
const RECLAIM_TIMEOUT_MS = 30_000;

/** Copies are read-only snapshots, sent as the difference to the last one that the other side has. */
export class BtrfsEngine implements VolumeEngine {
  readonly name = 'btrfs';
  readonly leastIntervalMs = 0;
  readonly #receiving: Receiving;

  constructor({ heldMs }: { readonly heldMs?: number } = {}) {
    // It searches the file system for the parent, which the kernel allows only with sys_admin.
    const capabilities = ['sys_admin'] as const;
    this.#receiving = new Receiving({ program: 'btrfs', trial: ['--version'], capabilities, heldMs });
  }

  async cannotReceive(): Promise<string | undefined> {
    return await this.#receiving.problem();
  }

  async missing(): Promise<string | undefined> {
    return await missingParts(['btrfs', 'mkfs.btrfs'], 'btrfs');
  }

  async open({ id, folder }: VolumePlace, sizeBytes: number): Promise<OpenVolume> {
    const image = new Image(folder, BTRFS);
    const mount = await image.open(sizeBytes, id);
    await mkdir(join(image.mountPoint, 'copies'), { recursive: true, mode: 0o700 });
    const room = new MetadataRoom(image);
    const exchange = new BtrfsExchange(image.mountPoint, folder, this.#receiving, room);
    return new BtrfsVolume(image, mount, exchange, new GivenNames(folder), room);
  }

  async close({ folder }: VolumePlace): Promise<boolean> {
    return await new Image(folder, BTRFS).close();
  }
}

class BtrfsVolume implements OpenVolume, SnapshotCopies {
  readonly mount: Mount;
  readonly image: string;
  readonly #image: Image;
  readonly #top: string;
  readonly #copies: string;
  /** Its generation when the last snapshot was taken: the same again means that nothing was written. */
  #generation: string | undefined;
  /** Takes in a row that were not for nothing, as far as was checked. */
  #takenInARow = 0;
  /** Copies that are being made: not complete yet, and not to be taken for remains. */
  readonly #unfinished = new Set<string>();

  readonly #exchange: BtrfsExchange;
  readonly #given: GivenNames;
  readonly #room: MetadataRoom;
  readonly #incomingCopy = new Interruptible();

  constructor(image: Image, mount: Mount, exchange: BtrfsExchange, given: GivenNames, room: MetadataRoom) {
    this.#exchange = exchange;
    this.#given = given;
    this.#room = room;
    this.#image = image;
    this.mount = mount;
    this.image = image.file;
    this.#top = image.mountPoint;
    this.#copies = join(this.#top, 'copies');
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
    // What would land after this is none of what was promoted, and would be taken for it.
    await this.#incomingCopy.end();
    const path = this.#data(epoch);
    const newest = (await this.list()).at(-1);
    for (const before of (await numbered(this.#top, 'data')).toReversed()) {
      if (before === epoch) return path;
      if (before > epoch || (newest !== undefined && newest.epoch > before)) {
        await this.#setAside(before);
      } else {
        await rename(this.#data(before), path);
        return path;
      }
    }
    if (newest === undefined && mustExist) throw new NothingKeptError();
    if (newest === undefined) {
      await subvolume('create', join(this.#top, 'new'));
      // Containers run as any user; whom the files belong to is theirs to say.
      await chmod(join(this.#top, 'new'), 0o777);
      await rename(join(this.#top, 'new'), path);
    } else {
      await this.#room.snapshot(this.#copy(newest), path);
    }
    return path;
  }

  async demote(): Promise<void> {
    for (const epoch of await numbered(this.#top, 'data')) await this.#setAside(epoch);
  }

  async #setAside(epoch: number): Promise<void> {
    await btrfs('property', 'set', '-ts', this.#data(epoch), 'ro', 'true');
    await renameAside(this.#top, `data-${epoch}`, `aside-${epoch}`);
  }

  async list(): Promise<readonly Copy[]> {
    const found: Copy[] = [];
    for (const entry of await readdir(this.#copies)) {
      const name = parseCopyName(entry);
      if (name === undefined || this.#unfinished.has(entry)) continue;
      const takenAt = await this.#takenAt(name);
      if (takenAt === undefined) await this.#removeHalf(name);
      else found.push({ ...name, takenAt });
    }
    return found.toSorted(compareCopies);
  }

  /** Undefined: it is not complete, or gone meanwhile. Fails where that cannot be told: a copy is not removed for that. */
  async #takenAt(name: CopyName): Promise<string | undefined> {
    try {
      const takenAt = await readTakenAt(this.#copies, name);
      // A received snapshot is read-only from its last moment; but also a stream that ends too early has a last moment.
      return takenAt !== undefined && (await isReadOnly(this.#copy(name))) ? takenAt : undefined;
    } catch (error) {
      if ((await readdir(this.#copies)).includes(copyText(name))) throw error;
      return undefined;
    }
  }

  async take(epoch: number, last: CopyName | undefined): Promise<Copy | undefined> {
    // A sender that begins, or the last copy before another node takes over: what comes next is checked again.
    if (last === undefined || last.epoch !== epoch) this.#takenInARow = 0;
    else if (this.#isToCheck() && (await this.#isUnchanged(epoch))) {
      this.#takenInARow = 0;
      return undefined;
    }
    const name = await this.#given.next(epoch, (await this.list()).at(-1), last);
    const copy: Copy = { ...name, takenAt: new Date().toISOString() };
    this.#unfinished.add(copyText(copy));
    try {
      await this.#room.snapshot('-r', this.#data(epoch), this.#copy(copy));
      await writeTakenAt(this.#copies, copy, copy.takenAt);
    } finally {
      this.#unfinished.delete(copyText(copy));
    }
    // Taking it writes too: what counts is what comes after.
    this.#generation = await generationOf(this.#copy(copy));
    this.#takenInARow += 1;
    return copy;
  }

  #isToCheck(): boolean {
    return this.#takenInARow < CHECK_EVERY || this.#takenInARow % CHECK_EVERY === 0;
  }

  /**
   * A commit of the file system, for which every fsync of a container waits. The snapshot is one too and writes out everything that is
   * dirty, so a take without the check holds them up half as often; it costs an empty copy when nothing was written.
   */
  async #isUnchanged(epoch: number): Promise<boolean> {
    await this.#commit();
    return (await generationOf(this.#data(epoch))) === this.#generation;
  }

  /**
   * What was deleted gives its room back when the kernel takes it apart: after a commit that was asked for, else twice a minute. Snapshots alone, however many
   * of them are taken, do not bring that about.
   */
  async #commit(): Promise<void> {
    await btrfs('filesystem', 'sync', this.#top);
  }

  async #giveBackAbove(share: number): Promise<void> {
    try {
      const { sizeBytes, usedBytes } = await this.measure();
      if (usedBytes > sizeBytes * share) await this.#commit();
    } catch {
      // It comes back later.
    }
  }

  async reclaim(): Promise<void> {
    await this.#commit();
    await run('btrfs', ['subvolume', 'sync', '-s', '1', this.#top], RECLAIM_TIMEOUT_MS);
    // What was taken apart is free with the next commit.
    await this.#commit();
  }

  async send(copy: CopyName, parent: CopyName | undefined): ReturnType<SnapshotCopies['send']> {
    const from = parent === undefined ? [] : ['-p', this.#copy(parent)];
    return await outputOf('btrfs', ['--quiet', 'send', ...from, this.#copy(copy)]);
  }

  async receive(copy: Copy, parent: CopyName | undefined, stream: AsyncIterable<Uint8Array>): Promise<void> {
    const have = await this.list();
    if (have.some((one) => isSameCopy(one, copy))) return;
    if (parent !== undefined && !have.some((one) => isSameCopy(one, parent))) {
      throw new ParentMissingError(`copy ${copyText(parent)} is not here`);
    }
    await this.#incomingCopy.during(async (signal) => {
      this.#unfinished.add(copyText(copy));
      try {
        // On disk when it resolves: it ends with a snapshot, which is a commit.
        await this.#exchange.receive(this.#copy(copy), parent && this.#copy(parent), stream, signal);
        await writeTakenAt(this.#copies, copy, copy.takenAt);
      } catch (error) {
        await this.#removeHalf(copy);
        throw error;
      } finally {
        this.#unfinished.delete(copyText(copy));
      }
    });
    await this.#settleAside(parent);
    // Of the copies before this one, too. The copy is whole, whatever becomes of that.
    await this.#giveBackAbove(TIGHT_COPY);
  }

  async #removeHalf(copy: CopyName): Promise<void> {
    await this.#remove(copy).catch(() => {});
  }

  async drop(copy: CopyName): Promise<void> {
    const isNewest = (await readdir(this.#copies)).every(
      (entry) => compareCopies(parseCopyName(entry) ?? copy, copy) <= 0,
    );
    if (isNewest) await this.#given.keep(copy);
    await this.#remove(copy);
  }

  async #remove(copy: CopyName): Promise<void> {
    await removeTakenAt(this.#copies, copy);
    if (!(await readdir(this.#copies)).includes(copyText(copy))) return;
    await subvolume('delete', this.#copy(copy)).catch(async (error: unknown) => {
      // Whoever lists copies meanwhile takes it for remains.
      if ((await readdir(this.#copies)).includes(copyText(copy))) throw error;
    });
    await this.#giveBackAbove(TIGHT);
  }

  async diverged(): Promise<readonly Diverged[]> {
    return await divergedIn(this.#top);
  }

  async discard({ path }: Diverged): Promise<void> {
    await subvolume('delete', path);
  }

  /**
   * The present primary has reported what it built on. What is aside and equal to that is in the volume and goes; anything else
   * is bytes that only this node has.
   */
  async #settleAside(parent: CopyName | undefined): Promise<void> {
    for (const epoch of await numbered(this.#top, 'aside')) {
      const name = `aside-${epoch}`;
      const path = join(this.#top, name);
      if (parent !== undefined && (await isEqual(this.#copy(parent), path))) await subvolume('delete', path);
      else await renameAside(this.#top, name, `diverged-${epoch}`);
    }
  }

  #data(epoch: number): string {
    return join(this.#top, `data-${epoch}`);
  }

  #copy(copy: CopyName): string {
    return join(this.#copies, copyText(copy));
  }
}

async function generationOf(path: string): Promise<string> {
  const printed = await btrfs('subvolume', 'show', path);
  return /^[ \t]*Generation:[ \t]+(\d+)/m.exec(printed)?.[1] ?? '';
}

/** Both read-only. The difference without its data is nearly nothing when there is none. */
async function isEqual(parent: string, path: string): Promise<boolean> {
  const { stream, stop } = await outputOf('btrfs', ['--quiet', 'send', '--no-data', '-p', parent, path]);
  let bytes = 0;
  try {
    for await (const chunk of bytesOf(stream)) {
      bytes += chunk.length;
      if (bytes > EMPTY_STREAM_BYTES) return false;
    }
    return true;
  } finally {
    stop();
  }
}
