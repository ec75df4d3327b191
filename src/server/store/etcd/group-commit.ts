import { runningMs } from '../../clock.ts';
import { type Commit, type CommitResult, KvUnavailableError } from '../kv.ts';
import type { GroupedResult } from './commit.ts';
import { faultKindOf } from './fault.ts';

export interface GroupCommitOptions {
  /** Writes of one transaction, and guards. */
  readonly maxTxnOps: number;
  readonly timeoutMs: number;
  readonly send: (commits: readonly Commit[], timeoutMs: number) => Promise<readonly GroupedResult[]>;
}

interface Waiting {
  readonly commit: Commit;
  readonly dueMs: number;
  /** Goes into a transaction of its own. */
  readonly alone: boolean;
  resolve(result: CommitResult): void;
  reject(error: unknown): void;
}

/**
 * One is being written to disk while the next is being put together: more at once would be smaller ones, and etcd's work per
 * transaction is several times that per key.
 */
const MAX_UNDER_WAY = 2;
/** A third of what etcd takes in one request (1.5 MiB). */
const MAX_GROUP_BYTES = 512 * 1024;
const MAX_WAITING = 8_192;

/** No revision of a record. */
const WRITTEN = -1;

/** Commits that share one transaction: none writes what another writes or stands on, so that any order of them is the same. */
class Group {
  readonly members: Waiting[] = [];
  /** The revision at which a record has to stand, or that it is written. */
  readonly #keys = new Map<string, number>();
  readonly #maxTxnOps: number;
  #guards = 0;
  #writes = 0;
  #bytes = 0;

  constructor(maxTxnOps: number) {
    this.#maxTxnOps = maxTxnOps;
  }

  /** False: it waits for the next one. */
  take(waiting: Waiting): boolean {
    if (this.members.length > 0 && !this.#fits(waiting)) return false;
    const { guards = [], puts = [], deletes = [] } = waiting.commit;
    this.members.push(waiting);
    for (const { key, modRevision } of guards) {
      // Many stand on the same record: it is compared once.
      if (!this.#keys.has(key)) this.#guards += 1;
      this.#keys.set(key, modRevision);
    }
    for (const { key } of puts) this.#keys.set(key, WRITTEN);
    for (const key of deletes) this.#keys.set(key, WRITTEN);
    this.#writes += puts.length + deletes.length;
    this.#bytes += bytesOf(waiting.commit);
    return true;
  }

  #fits({ commit, alone }: Waiting): boolean {
    if (alone || this.members[0]?.alone === true) return false;
    const { guards = [], puts = [], deletes = [] } = commit;
    if (this.#writes + puts.length + deletes.length > this.#maxTxnOps) return false;
    if (this.#guards + guards.length > this.#maxTxnOps) return false;
    if (this.#bytes + bytesOf(commit) > MAX_GROUP_BYTES) return false;
    for (const { key, modRevision } of guards)
      if ((this.#keys.get(key) ?? modRevision) !== modRevision) return false;
    for (const { key } of puts) if (this.#keys.has(key)) return false;
    for (const key of deletes) if (this.#keys.has(key)) return false;
    return true;
  }
}

/**
 * Commits that wait at the same time share a transaction, and with it a revision. Each is still all or nothing and judged by
 * its own guards: when one has a conflict the transaction applies nothing, that one gets the conflict, and the others go into the next.
 */
export function groupCommits(options: GroupCommitOptions): (commit: Commit) => Promise<CommitResult> {
  let waiting: Waiting[] = [];
  let underWay = 0;
  let scheduled = false;

  function takeGroup(): Group {
    const group = new Group(options.maxTxnOps);
    waiting = waiting.filter((one) => !group.take(one));
    return group;
  }

  function refuseLate(): void {
    const nowMs = runningMs();
    waiting = waiting.filter((one) => {
      if (one.dueMs > nowMs) return true;
      one.reject(new KvUnavailableError('etcd did not answer in time to what was asked before', true));
      return false;
    });
  }

  function settle(members: readonly Waiting[], results: readonly GroupedResult[]): void {
    const unharmed: Waiting[] = [];
    for (const [index, member] of members.entries()) {
      const result = results[index];
      if (result === undefined) unharmed.push(member);
      else member.resolve(result);
    }
    if (unharmed.length === members.length) throw new Error('a transaction failed, and none of its guards');
    waiting.unshift(...unharmed);
  }

  /** What etcd will not take from all of them it may take from each. */
  function fail(members: readonly Waiting[], error: unknown): void {
    if (members.length > 1 && mayConcernOne(error))
      waiting.unshift(...members.map((one) => ({ ...one, alone: true })));
    else for (const one of members) one.reject(error);
  }

  async function sendGroup({ members }: Group): Promise<void> {
    const leftMs = Math.max(1, Math.min(...members.map((one) => one.dueMs)) - runningMs());
    try {
      settle(
        members,
        await options.send(
          members.map((one) => one.commit),
          leftMs,
        ),
      );
    } catch (error) {
      fail(members, error);
    }
    underWay -= 1;
    start();
  }

  function start(): void {
    refuseLate();
    while (waiting.length > 0 && underWay < MAX_UNDER_WAY) {
      underWay += 1;
      void sendGroup(takeGroup());
    }
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // What one turn of the event loop asks for goes together.
    setImmediate(() => {
      scheduled = false;
      start();
    });
  }

  return (commit) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MAX_WAITING) {
        reject(new KvUnavailableError(`${MAX_WAITING} commits are already waiting for etcd`, true));
        return;
      }
      // A lease that has ended fails its transaction.
      const alone = commit.puts?.some((put) => put.lease !== undefined) ?? false;
      waiting.push({ commit, dueMs: runningMs() + options.timeoutMs, alone, resolve, reject });
      schedule();
    });
}

/** Nothing was applied, and the reason may lie in one commit: its size, its keys, or that it takes space. */
function mayConcernOne(error: unknown): boolean {
  if (error instanceof KvUnavailableError && !error.certainlyNotApplied) return false;
  const kind = faultKindOf(error);
  return kind === 'refused' || kind === 'too-large' || kind === 'no-space' || kind === 'auth';
}

function bytesOf({ puts = [] }: Commit): number {
  let bytes = 0;
  for (const { key, value } of puts) bytes += key.length + value.length;
  return bytes;
}
