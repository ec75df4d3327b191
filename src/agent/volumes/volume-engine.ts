import type { Readable } from 'node:stream';
import type { Measurement } from './image.ts';
import type { Mount } from './mounts.ts';

/** A state of the volume at one moment, under the epoch of the primary that took it. */
export interface CopyName {
  readonly epoch: number;
  readonly sequence: number;
}

export interface Copy extends CopyName {
  /** Of the sender's wall clock: to be shown, never compared. */
  readonly takenAt: string;
}

export interface Diverged {
  readonly epoch: number;
  readonly path: string;
}

/** Where a volume lives on this node: a folder of its own, named by its id. */
export interface VolumePlace {
  readonly id: string;
  readonly folder: string;
}

/**
 * A way to keep the bytes of a volume. `open` may be repeated after any crash. An engine that has every acknowledged write
 * on its copies already has no `copies` here: it would be given its peers instead, and takes part in leases as they do.
 */
export interface VolumeEngine {
  readonly name: string;
  /** Taking a copy costs too much to do it more often. */
  readonly leastIntervalMs: number;
  /** What is missing here, with the package to install; undefined: the engine works. */
  missing(): Promise<string | undefined>;
  /** Why copies from other nodes cannot be taken in here; undefined: they can. Absent: the engine takes none. */
  cannotReceive?(): Promise<string | undefined>;
  open(place: VolumePlace, sizeBytes: number): Promise<OpenVolume>;
  /** Unmounts and keeps the bytes. False: a container still has it. */
  close(place: VolumePlace): Promise<boolean>;
  /** The agent ends, and with it what the engine does beside the lanes: it goes on after the next `open`. */
  end?(): void;
}

export interface OpenVolume {
  readonly mount: Mount;
  readonly image: string;
  measure(): Promise<Measurement>;
  /** It can be made smaller while it is in use. */
  readonly shrinks: boolean;
  /** While it is in use. Where it cannot be made smaller a smaller size changes nothing; fails with `ShrinkRefusedError`. */
  resize(sizeBytes: number): Promise<void>;
  /**
   * Where the primary's containers write, under this epoch: from its own earlier data, or from the newest complete copy. With
   * `mustExist` there has to be one of them: a node that never got a copy must not go on with nothing.
   */
  writable(epoch: number, mustExist?: boolean): Promise<string>;
  readonly copies: SnapshotCopies | undefined;
}

/** Copies that are taken at moments in time (asynchronous engines). */
export interface SnapshotCopies {
  /**
   * The last two alone are kept, beside the volume: `take` drops what is older, and only the newest can be sent, from the other one or whole. Until
   * `send` has resolved, none that it reads may go. Absent: each stays until it is dropped, in room of the volume.
   */
  readonly keepsTwo?: true;
  /** What was writable under an earlier epoch is kept aside, read-only, and never written or overwritten again. */
  demote(): Promise<void>;
  /** Complete ones, oldest first. What a cut connection left half received is removed. */
  list(): Promise<readonly Copy[]>;
  /** Undefined: nothing has been written since `last`. The other way round a copy may be empty. */
  take(epoch: number, last: CopyName | undefined): Promise<Copy | undefined>;
  /** From `parent`, which both sides have, or whole. The stream fails when it is not to be trusted. */
  send(
    copy: CopyName,
    parent: CopyName | undefined,
  ): Promise<{ readonly stream: Readable; readonly stop: () => void }>;
  /** Whole or not at all: until it resolves, the copy is not in `list`. */
  receive(copy: Copy, parent: CopyName | undefined, stream: AsyncIterable<Uint8Array>): Promise<void>;
  /** Its room may come back a while later. */
  drop(copy: CopyName): Promise<void>;
  /** Until the room of what was dropped has come back; fails where that takes long. Absent: it is back at once. */
  reclaim?(): Promise<void>;
  diverged(): Promise<readonly Diverged[]>;
  /**
   * Removes one of `diverged`: its bytes are nowhere else. Soon: what takes long is done later, under another name. Fails when it is not
   * there.
   */
  discard(diverged: Diverged): Promise<void>;
}

/** The sender builds on a copy that is not here. */
export class ParentMissingError extends Error {
  override readonly name = 'ParentMissingError';
}

/** Nothing is wrong with the copy, nor with the room for its bytes: the file system has none for what it writes about them. */
export class NoMetadataRoomError extends Error {
  override readonly name = 'NoMetadataRoomError';
}

/** A write to a volume of which nothing is here. */
export class NothingKeptError extends Error {
  override readonly name = 'NothingKeptError';
  constructor() {
    super('no copy of the volume ever arrived here');
  }
}

export function compareCopies(a: CopyName, b: CopyName): number {
  return a.epoch - b.epoch || a.sequence - b.sequence;
}

export function isSameCopy(a: CopyName, b: CopyName | undefined): boolean {
  return a.epoch === b?.epoch && a.sequence === b.sequence;
}

/** `<epoch>.<sequence>`, the name of a copy on every node. */
export function copyText({ epoch, sequence }: CopyName): string {
  return `${epoch}.${sequence}`;
}

export function parseCopyName(text: string): CopyName | undefined {
  const [, epoch, sequence] = /^(\d{1,15})\.(\d{1,15})$/.exec(text) ?? [];
  return epoch === undefined || sequence === undefined
    ? undefined
    : { epoch: Number(epoch), sequence: Number(sequence) };
}
