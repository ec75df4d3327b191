import { randomInt } from 'node:crypto';
import { checkCommit } from '../commit-check.ts';
import { type Kv, KvUnavailableError, type Watch, type WatchHandlers } from '../kv.ts';
import { EtcdCluster } from './cluster.ts';
import { commitTxn, DEFAULT_MAX_TXN_OPS, requireThatItFits } from './commit.ts';
import { readStatus } from './diagnosis.ts';
import { faultKindOf } from './fault.ts';
import { FollowingWatch } from './following-watch.ts';
import { groupCommits } from './group-commit.ts';
import { keySpaceUnder } from './key-space.ts';
import { METHODS } from './messages.ts';
import { WatchProgress } from './progress.ts';
import { sizeByPages } from '../pages.ts';
import { loadPages } from './load.ts';
import { readEntry, readHead, readRange } from './range.ts';
import { SentRecords } from './sent-records.ts';
import { sharedRead } from './shared-read.ts';
import { compactTo, SpaceRecovery } from './space.ts';
import { EtcdWatch } from './watch.ts';
import type { TlsOptions } from './wire.ts';

export interface EtcdOptions {
  /** `http(s)://host:port` of every member. */
  readonly endpoints: readonly string[];
  /** Before every key; two installations with different prefixes can share a cluster. Default `/berth/`. */
  readonly prefix?: string;
  readonly auth?: { readonly user: string; readonly password: string };
  readonly tls?: TlsOptions;
  /** Deadline of every call, its retries included. Default 2000. */
  readonly timeoutMs?: number;
  /** The members' `--max-txn-ops`. Default 128, as theirs. */
  readonly maxTxnOps?: number;
}

const DEFAULT_PREFIX = '/berth/';
const DEFAULT_TIMEOUT_MS = 2_000;
/** Lease ids are ours to choose; below 2^47 they stay exact as numbers. */
const MAX_LEASE_ID = 2 ** 47;

/** Does not wait for etcd: a store that is away now is reported by `status()` and used when it returns. */
export async function openEtcdKv(options: EtcdOptions): Promise<Kv> {
  const keys = keySpaceUnder(options.prefix ?? DEFAULT_PREFIX);
  const maxTxnOps = options.maxTxnOps ?? DEFAULT_MAX_TXN_OPS;
  const cluster = new EtcdCluster({ ...options, timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS });
  const closing = new AbortController();
  const space = new SpaceRecovery(cluster, keys, closing.signal);
  const watches = new Set<EtcdWatch>();
  const progress = new WatchProgress(cluster, keys, watches);
  const sharedHead = sharedRead(() => readHead(cluster, keys));
  const sent = new SentRecords();
  const groupedCommit = groupCommits({
    maxTxnOps,
    timeoutMs: cluster.timeoutMs,
    send: async (commits, timeoutMs) => {
      const drop = sent.hold(commits);
      let stored = false;
      try {
        const results = await commitTxn(cluster, keys, commits, timeoutMs);
        stored = results.every((result) => result?.ok);
        return results;
      } finally {
        if (!stored) drop();
      }
    },
  });

  const watchAlone = (prefix: string, afterRevision: number, handlers: WatchHandlers): Watch => {
    const onClosed = (watch: EtcdWatch): void => void watches.delete(watch);
    const context = { cluster, keys, readHead: sharedHead, sent, onClosed };
    const watch = new EtcdWatch(context, prefix, afterRevision, handlers);
    watches.add(watch);
    return watch;
  };
  /** The watch of the whole store, if it has told nothing after this revision. */
  const leaderAt = (revision: number): EtcdWatch | undefined =>
    watches.values().find((watch) => watch.reportsProgress && watch.position <= revision);

  const requireOpen = (): void => {
    if (closing.signal.aborted) throw new KvUnavailableError('the store is closed', true);
  };
  const write = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    requireOpen();
    try {
      return await run();
    } catch (error) {
      if (faultKindOf(error) === 'no-space') space.start();
      throw error;
    }
  };
  const read = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    requireOpen();
    return run();
  };

  return {
    get: (key) => read(() => readEntry(cluster, keys, key)),
    range: (prefix, rangeOptions = {}) => read(() => readRange(cluster, keys, prefix, rangeOptions)),
    load: (prefix) => {
      requireOpen();
      return loadPages(cluster, keys, prefix);
    },
    size: (prefix) =>
      read(() =>
        sizeByPages({ range: (under, paged = {}) => readRange(cluster, keys, under, paged) }, prefix),
      ),
    commit: (commit) =>
      write(() => {
        checkCommit(commit);
        requireThatItFits(commit, maxTxnOps);
        return groupedCommit(commit);
      }),
    head: () =>
      read(async () => {
        const revision = await sharedHead();
        progress.reach(revision);
        return revision;
      }),
    watch: (prefix, afterRevision, handlers) => {
      requireOpen();
      const leader = handlers.onProgress === undefined ? leaderAt(afterRevision) : undefined;
      if (leader === undefined) return watchAlone(prefix, afterRevision, handlers);
      const resume = (after: number): Watch =>
        closing.signal.aborted ? { close: () => undefined } : watchAlone(prefix, after, handlers);
      return new FollowingWatch({ leader, prefix, afterRevision, handlers, resume });
    },
    grantLease: (ttlMs) =>
      write(async () => {
        const ID = randomInt(1, MAX_LEASE_ID);
        try {
          await cluster.call(METHODS.leaseGrant, { TTL: Math.ceil(ttlMs / 1000), ID }, { repeatable: true });
        } catch (error) {
          // The id is random, so an existing one is our own, granted by an attempt whose answer was lost.
          if (faultKindOf(error) !== 'lease-exists') throw error;
        }
        return String(ID);
      }),
    keepAlive: (lease) =>
      read(async () => (await cluster.ask(METHODS.leaseKeepAlive, { ID: Number(lease) })).TTL.toNumber() > 0),
    revokeLease: (lease) =>
      write(async () => {
        try {
          await cluster.call(METHODS.leaseRevoke, { ID: Number(lease) }, { repeatable: true });
        } catch (error) {
          if (faultKindOf(error) !== 'no-lease') throw error;
        }
      }),
    compact: (revision) => write(() => compactTo(cluster, revision)),
    status: async () =>
      closing.signal.aborted
        ? { kind: 'etcd', connected: false, problem: 'the store is closed' }
        : readStatus(cluster, sharedHead, () => space.start()),
    fileBytes: () => read(() => space.greatestSize()),
    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      progress.close();
      for (const watch of watches) watch.close();
      cluster.close();
    },
  };
}
