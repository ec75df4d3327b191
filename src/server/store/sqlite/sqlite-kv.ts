import { existsSync, statSync } from 'node:fs';
import { messageOf } from '../../../core/model/values.ts';
import { checkCommit } from '../commit-check.ts';
import { HOT_PREFIX } from '../keys.ts';
import { type Kv, KvCompactedError, type KvStatus, KvUnavailableError } from '../kv.ts';
import { createWatchers } from '../watchers.ts';
import { lockDirectory } from './directory-lock.ts';
import { DamageError, describeFault } from './fault.ts';
import { bytesOf, makeDirectory, makePrivateFile, type StoreFiles, storeFiles } from './files.ts';
import { openReader, type Reader } from './reader.ts';
import { mostChanges } from './schema.ts';
import { tablePages } from './table-scan.ts';
import { startWriter } from './writer-link.ts';

export interface SqliteKvOptions {
  readonly dir: string;
  /** History kept behind the newest revision; the smaller bound wins. */
  readonly keepRevisions?: number;
  readonly keepBytes?: number;
  /** Space held in reserve for deletions on a full disk; 0 for none. */
  readonly ballastBytes?: number;
  /** Live records are wanted as they are read while it is opened (`Kv.readAhead`). */
  readonly readAhead?: boolean;
}

export interface SqliteKv extends Kv {
  /** Durable transactions so far; fewer than commits when commits share one. */
  readonly transactions: number;
  /** Resolves when the live records have been checked, rejects when they are damaged. Writes wait for it. */
  readonly live: Promise<void>;
  /** Reads what has not been checked yet, beside its use. Resolves when everything has been, rejects when it is damaged. */
  verify(): Promise<void>;
}

const megabyte = 1024 * 1024;
/** Some milliseconds of the writer: what others ask for does not wait longer for it than for a sync of a slow disk. */
const commitWrites = 360;

/** Opens the embedded store in a directory that it shares with no other process. */
export async function openSqliteKv(options: SqliteKvOptions): Promise<SqliteKv> {
  const kv = await beginSqliteKv(options);
  try {
    await kv.verify();
  } catch (error) {
    await kv.close();
    throw error;
  }
  return kv;
}

/** The same while its live records are still being checked: a large one can be read meanwhile, each row by its own checksum. */
export async function beginSqliteKv(options: SqliteKvOptions): Promise<SqliteKv> {
  const { dir, keepRevisions = 10_000, keepBytes = 256 * megabyte, ballastBytes = 8 * megabyte } = options;
  const { readAhead = false } = options;
  const files = storeFiles(dir);
  const lock = openDirectory(files);
  let reader: Reader | undefined;
  let damage: string | undefined;
  let closed = false;
  /** The newest revision that watchers have been given; undefined until the writer is up. */
  let published: number | undefined;
  const onDamage = (message: string): void => {
    damage ??= message;
  };
  const watchers = createWatchers((_prefix, after, maxRevisions) =>
    read((from) => from.history(after, maxRevisions)),
  );

  const read = <T>(work: (from: Reader) => T): T =>
    guarded(() => {
      reader ??= openReader(files.database);
      return work(reader);
    });

  /** Once damage is known even an absent key proves nothing: the store answers no more. */
  function guarded<T>(work: () => T): T {
    if (closed) throw new KvUnavailableError('the store is closed', true);
    if (damage !== undefined) throw new KvUnavailableError(damage, true);
    try {
      return work();
    } catch (error) {
      if (error instanceof KvCompactedError || error instanceof RangeError) throw error;
      const fault = describeFault(error, files.database, dir);
      if (fault.kind === 'damaged') onDamage(fault.message);
      throw new KvUnavailableError(fault.message, true, { cause: error });
    }
  }

  /** After a restart of the writer: what it had committed but not answered is in the log only. */
  function publishUpTo(newest: number, from: number): void {
    try {
      for (let at = from; at < newest; ) {
        const after = at;
        const slice = read((reading) => reading.history(after, 256));
        if (slice.compacted) throw new Error(`the history after revision ${after} is gone`);
        for (const batch of slice.batches) watchers.publish(batch);
        at = slice.upTo;
      }
    } catch (error) {
      watchers.loseAll(String(error));
    }
  }

  const start = startWriter(
    { dir, keepRevisions, keepBytes, ballastBytes, readAhead },
    {
      onBatch(batch) {
        published = batch.revision;
        if (batch.changes.length > 0) watchers.publish(batch);
      },
      isWatched: () => watchers.wanted,
      onReady(newest) {
        if (published !== undefined) publishUpTo(newest, published);
        published = newest;
      },
      onDamage,
    },
  );
  const writer = await start.catch((error: unknown) => {
    lock.release();
    throw error;
  });

  async function status(): Promise<KvStatus> {
    try {
      read((from) => from.meta());
      const problem = writer.problem;
      return problem === undefined
        ? { kind: 'sqlite', connected: true }
        : { kind: 'sqlite', connected: true, problem };
    } catch (error) {
      return {
        kind: 'sqlite',
        connected: false,
        problem: messageOf(error),
      };
    }
  }

  return {
    commitWrites,
    get: async (key) => read((from) => from.get(key)),
    range: async (prefix, rangeOptions = {}) => read((from) => from.range(prefix, rangeOptions)),
    async *load(prefix) {
      const pages = tablePages(files.database, prefix);
      try {
        for (;;) {
          const { value: page } = guarded(() => pages.next());
          if (page === undefined) return;
          yield page;
        }
      } finally {
        pages.return(undefined);
      }
    },
    readAhead: (prefix) => (prefix === HOT_PREFIX ? writer.takeReadAhead() : undefined),
    size: async (prefix) => read((from) => from.size(prefix)),
    commit(commit) {
      try {
        checkCommit(commit);
        if ((commit.puts?.length ?? 0) + (commit.deletes?.length ?? 0) > mostChanges)
          throw new RangeError(`a commit has more than ${mostChanges} changes`);
        if (damage !== undefined) throw new KvUnavailableError(damage, true);
        return writer.commit(commit);
      } catch (error) {
        return Promise.reject(error);
      }
    },
    head: async () => read((from) => from.meta().head),
    watch: (prefix, afterRevision, handlers) => watchers.watch(prefix, afterRevision, handlers),
    async grantLease(ttlMs) {
      if (!(ttlMs > 0 && ttlMs < Number.MAX_SAFE_INTEGER))
        throw new RangeError(`a lease cannot last ${ttlMs} ms`);
      return String(await writer.ask('grant', Math.ceil(ttlMs)));
    },
    keepAlive: async (lease) => (await writer.ask('keepAlive', Number(lease))) === 1,
    revokeLease: async (lease) => void (await writer.ask('revoke', Number(lease))),
    compact: async (revision) => void (await writer.ask('compact', revision)),
    status,
    fileBytes: () => bytesOf(files),
    async close() {
      if (closed) return;
      closed = true;
      watchers.closeAll();
      reader?.close();
      await writer.close();
      lock.release();
    },
    get transactions() {
      return writer.transactions;
    },
    live: writer.live,
    verify: writer.verify,
  };
}

function openDirectory(files: StoreFiles): { release(): void } {
  try {
    makeDirectory(files.dir);
    const lock = lockDirectory(files);
    try {
      checkNotEmptied(files);
      makePrivateFile(files.database, files.dir);
    } catch (error) {
      lock.release();
      throw error;
    }
    return lock;
  } catch (error) {
    if (error instanceof KvUnavailableError) throw error;
    throw new KvUnavailableError(describeFault(error, files.database, files.dir).message, true, {
      cause: error,
    });
  }
}

/** SQLite takes an empty file for a new database and would throw away the writes that wait beside it. */
function checkNotEmptied(files: StoreFiles): void {
  if (statSync(files.database, { throwIfNoEntry: false })?.size !== 0) return;
  if (!existsSync(files.ballast) && !existsSync(`${files.database}-wal`)) return;
  throw new DamageError('it is empty, though the directory has held a store');
}
