/**
 * The key-value port. Everything the control plane keeps goes through it, so that the embedded store and etcd
 * are interchangeable. Revisions are those of the whole store: numbers that grow with every accepted commit and are never
 * reused. Commits that a store takes in one moment may share one; two that write the same key never do.
 */

export interface KvEntry {
  readonly key: string;
  readonly value: string;
  /** Revision of the commit that created the key (after its last deletion). */
  readonly createRevision: number;
  /** Revision of the commit that last wrote the key. */
  readonly modRevision: number;
  /** What the value says, where whoever wrote it runs in this process; never altered. */
  readonly record?: object;
}

export interface RangeOptions {
  /** Read as of this revision; absent = newest. Below the compaction floor: KvCompactedError. */
  readonly revision?: number;
  /** At most this many entries. */
  readonly limit?: number;
  /** Only keys after this one (exclusive), for paging in key order. With `reverse`, only keys before it. */
  readonly after?: string;
  /** Descending key order. */
  readonly reverse?: boolean;
  /** Ends a little after the values together reach this many bytes; `more` then says whether any are left. */
  readonly bytes?: number;
}

export interface RangeResult {
  readonly entries: readonly KvEntry[];
  /** The revision the result is a snapshot of. */
  readonly revision: number;
  /** Ended by `bytes`, with more to come. */
  readonly more?: boolean;
}

/** The commit is applied only if every guarded key is at the given modRevision; 0 = the key must not exist. */
export interface Guard {
  readonly key: string;
  readonly modRevision: number;
}

export interface Put {
  readonly key: string;
  readonly value: string;
  /** What the value was made from; it must not be altered any more. A store may hand it to watchers, which need not read the value then. */
  readonly record?: object;
  /** Deleted with this lease when it ends. */
  readonly lease?: LeaseId;
}

export interface Commit {
  readonly guards?: readonly Guard[];
  readonly puts?: readonly Put[];
  readonly deletes?: readonly string[];
  /**
   * Called when it is durable, in the turn of the event loop in which watchers get it, just before they do. A store that cannot do both in one turn
   * does not call it.
   */
  readonly onDurable?: (revision: number) => void;
}

/** A conflict is a value: the caller re-reads and decides again. `failed` names the guarded keys that had moved. */
export type CommitResult =
  | { readonly ok: true; readonly revision: number }
  | { readonly ok: false; readonly failed: readonly string[] };

export interface KvChange {
  readonly key: string;
  /** Absent: the key was deleted. */
  readonly entry?: KvEntry;
  readonly revision: number;
}

/** All changes of one revision arrive in one batch, those of commits that share it together; batches arrive in revision order without a gap. */
export interface KvChangeBatch {
  readonly revision: number;
  readonly changes: readonly KvChange[];
}

export interface WatchHandlers {
  /** Called synchronously, in order. */
  onBatch(batch: KvChangeBatch): void;
  /**
   * The history between the last delivered revision and now is gone (compaction) or the store cannot tell.
   * Nothing more is delivered: the watcher re-lists, compares with what it holds, and watches again.
   */
  onLost(reason: string): void;
  /**
   * Every change under the prefix at or below this revision was delivered, also when none of them is under the prefix.
   * Called by stores that several processes share; in one process the view knows its own writes.
   */
  onProgress?(revision: number): void;
}

export interface Watch {
  close(): void;
}

export type LeaseId = string;

export interface KvStatus {
  readonly kind: 'sqlite' | 'etcd' | 'memory';
  /** From the last real operation, not from a flag set at start. */
  readonly connected: boolean;
  /** Why writes fail now, for an operator; absent when they do not. */
  readonly problem?: string;
}

/** Rows as they were read, without an object or a text for each: whoever takes them makes what it needs of them. */
export interface RowPack {
  /** The revision that they are a snapshot of. */
  readonly revision: number;
  /** Beginnings of keys, each up to the id. */
  readonly beginnings: readonly string[];
  /** Of each row, which beginning its key has. */
  readonly places: Uint16Array;
  /** Of each row, what follows in its key; null: what it is in the row before. */
  readonly ids: readonly (string | null)[];
  readonly createRevisions: Float64Array;
  readonly modRevisions: Float64Array;
  /** All values in UTF-8. */
  readonly values: Uint8Array;
  /** Of the values alone; absent: there is nothing else among them. */
  readonly bytes?: number;
  /** Of each row, where its value begins there; absent: one follows another. */
  readonly starts?: Uint32Array;
  /** Of each row, where its value ends there. */
  readonly ends: Uint32Array;
}

/** etcd takes 128 writes and as many guards in one commit, and one guard is that of the tenant's shard. */
export const FEWEST_COMMIT_WRITES = 120;

export interface Kv {
  /** How many writes, and how many guards, a controller may put into one commit; absent: `FEWEST_COMMIT_WRITES`. */
  readonly commitWrites?: number;
  get(key: string): Promise<KvEntry | undefined>;
  /** Entries whose key starts with `prefix`, in key order (binary order of UTF-8), as one snapshot. */
  range(prefix: string, options?: RangeOptions): Promise<RangeResult>;
  /**
   * The same in pages and in any order, for who wants all of it and holds nothing yet. Absent: nothing is faster than ranges in key order. Of the
   * embedded store that is being opened it is true once `live` has resolved.
   */
  load?(prefix: string): AsyncIterable<RangeResult | RowPack>;
  /**
   * The same as the store itself read it while it was opened. It is there once; undefined: it was taken, or the store reads nothing by itself. As true
   * as `load`.
   */
  readAhead?(prefix: string): AsyncIterable<RowPack> | undefined;
  /** How many entries are under `prefix`, and the bytes of their values. */
  size(prefix: string): Promise<{ readonly records: number; readonly bytes: number }>;
  /** Resolves after the write is durable. All or nothing; under one revision. An empty commit is refused by the types' users. */
  commit(commit: Commit): Promise<CommitResult>;
  /** The newest revision, linearizable: at least that of every commit acknowledged by any process before this call. */
  head(): Promise<number>;
  /** Changes under `prefix` with revision > `afterRevision`. Survives reconnects; see `onLost`. */
  watch(prefix: string, afterRevision: number, handlers: WatchHandlers): Watch;
  /** A lease ends `ttlMs` after its last keepAlive (a process's own clock, never wall clock across machines). */
  grantLease(ttlMs: number): Promise<LeaseId>;
  /** False: the lease is gone. */
  keepAlive(lease: LeaseId): Promise<boolean>;
  revokeLease(lease: LeaseId): Promise<void>;
  /** Forget history at or below this revision. Newest values stay. */
  compact(revision: number): Promise<void>;
  /** Does a real read; never throws. */
  status(): Promise<KvStatus>;
  /** What it takes on disk, of the largest of several members; absent: nothing is on disk. */
  fileBytes?(): Promise<number>;
  close(): Promise<void>;
}

/** The store cannot serve now (disk full, unreachable, corrupt). The write was not acknowledged. */
export class KvUnavailableError extends Error {
  override readonly name = 'KvUnavailableError';
  /** False when the write may or may not have been applied (a lost answer). */
  readonly certainlyNotApplied: boolean;
  constructor(message: string, certainlyNotApplied: boolean, options?: ErrorOptions) {
    super(message, options);
    this.certainlyNotApplied = certainlyNotApplied;
  }
}

/** More than the store takes in one commit. Nothing was stored, and the same commit will never be. */
export class KvTooLargeError extends Error {
  override readonly name = 'KvTooLargeError';
}

/** A read at a revision whose history has been forgotten. */
export class KvCompactedError extends Error {
  override readonly name = 'KvCompactedError';
}
