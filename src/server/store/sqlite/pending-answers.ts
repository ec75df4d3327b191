import { runningMs } from '../../clock.ts';
import {
  type Commit,
  type CommitResult,
  type KvChange,
  type KvChangeBatch,
  KvUnavailableError,
} from '../kv.ts';
import { answers, type WireReader } from './protocol.ts';

export interface BatchEvents {
  /**
   * Called in revision order, before the promise of the commit that made the batch settles. Without `isWatched` the
   * batch is empty.
   */
  onBatch(batch: KvChangeBatch): void;
  isWatched(): boolean;
}

/** What has been asked of the writer, in the order of asking, which is the order of its answers. */
export interface PendingAnswers {
  /** Undefined when as much waits as may. */
  addCommit(commit: Commit): Promise<CommitResult> | undefined;
  addNumber(): Promise<number> | undefined;
  /** Publishes and settles what one message of the writer answers. */
  settle(wire: WireReader): void;
  /** How many wait. */
  readonly count: number;
  /** How long the oldest has waited. */
  readonly oldestMs: number;
  failOlderThan(ms: number, error: () => KvUnavailableError): void;
  failAll(error: KvUnavailableError): void;
}

interface Asked {
  readonly bytes: number;
  readonly askedAt: number;
  settled: boolean;
  reject(error: Error): void;
}

interface AskedCommit extends Asked {
  readonly commit: Commit;
  resolve(result: CommitResult): void;
}

interface AskedNumber extends Asked {
  readonly commit: undefined;
  resolve(result: number): void;
}

type Pending = AskedCommit | AskedNumber;

const maxPending = 20_000;
const maxPendingBytes = 256 * 1024 * 1024;

/** `nowMs`: how long something waits is counted by it. */
export function createPendingAnswers(events: BatchEvents, nowMs = runningMs): PendingAnswers {
  let pending: (Pending | undefined)[] = [];
  let first = 0;
  let waitingBytes = 0;

  const isFull = (): boolean => pending.length - first >= maxPending || waitingBytes > maxPendingBytes;

  function next(): Pending {
    const entry = pending[first];
    if (entry === undefined) throw new Error('the writer answered what was not asked');
    // An answered entry holds its commit and, by its promise, the whole request: the collector must not meet it again.
    pending[first++] = undefined;
    waitingBytes -= entry.bytes;
    // The places of answered entries are dropped many at a time: shifting the list for each would cost its whole length.
    if (first > 1024 && first * 2 > pending.length) {
      pending = pending.slice(first);
      first = 0;
    }
    return entry;
  }

  function readAnswer(wire: WireReader): () => void {
    const kind = wire.number();
    if (kind === answers.expired) {
      publishDeleted(wire);
      return () => {};
    }
    const entry = next();
    switch (kind) {
      case answers.applied:
        return committed(entry, ({ commit, settled }) => publishApplied(wire, commit, settled));
      case answers.conflict:
        return committed(entry, ({ commit: { guards = [] } }) => ({
          ok: false,
          failed: Array.from({ length: wire.number() }, () => guards[wire.number()]?.key ?? ''),
        }));
      case answers.unavailable: {
        const certainlyNotApplied = wire.number() === 1;
        return rejecting(entry, new KvUnavailableError(wire.text(), certainlyNotApplied));
      }
      case answers.leaseGone:
        return rejecting(entry, new Error(`lease ${wire.text()} is gone`));
      case answers.number:
        return numbered(entry, wire.number());
      case answers.revoked:
        publishDeleted(wire);
        return numbered(entry, 0);
      case answers.done:
        return numbered(entry, 0);
      default:
        throw new TypeError(`unknown answer ${kind}`);
    }
  }

  function publishApplied(wire: WireReader, commit: Commit, isSettled: boolean): CommitResult {
    const { puts = [], deletes = [], onDurable } = commit;
    const revision = wire.number();
    // Not where it has been told meanwhile that nothing is known of it.
    if (!isSettled) onDurable?.(revision);
    const changes: KvChange[] = [];
    const watched = events.isWatched();
    for (const { key, value, record } of puts) {
      const createRevision = wire.number();
      if (!watched) continue;
      const entry = { key, value, createRevision, modRevision: revision };
      changes.push({ key, revision, entry: record === undefined ? entry : { ...entry, record } });
    }
    for (const key of deletes) {
      const existed = wire.number() === 1;
      if (watched && existed) changes.push({ key, revision });
    }
    events.onBatch({ revision, changes });
    return { ok: true, revision };
  }

  function publishDeleted(wire: WireReader): void {
    const revision = wire.number();
    const changes = Array.from({ length: wire.number() }, () => ({ key: wire.text(), revision }));
    events.onBatch({ revision, changes });
  }

  return {
    addCommit(commit) {
      if (isFull()) return undefined;
      const bytes = sizeOf(commit);
      waitingBytes += bytes;
      return new Promise((resolve, reject) => {
        pending.push({ commit, bytes, askedAt: nowMs(), settled: false, resolve, reject });
      });
    },
    addNumber() {
      if (isFull()) return undefined;
      return new Promise((resolve, reject) => {
        const askedAt = nowMs();
        pending.push({ commit: undefined, bytes: 0, askedAt, settled: false, resolve, reject });
      });
    },
    settle(wire) {
      const settle: (() => void)[] = [];
      while (!wire.done) settle.push(readAnswer(wire));
      // Only now, when the watchers have seen all of it: the awaiter of a commit finds it in every view.
      for (const run of settle) run();
    },
    get count() {
      return pending.length - first;
    },
    get oldestMs() {
      const oldest = pending[first];
      return oldest === undefined ? 0 : nowMs() - oldest.askedAt;
    },
    failOlderThan(ms, error) {
      const limit = nowMs() - ms;
      for (let i = first; i < pending.length; i++) {
        const entry = pending[i];
        if (entry === undefined || entry.askedAt > limit) return;
        // It keeps its place: its answer may still come and must not be taken for the next one's.
        rejecting(entry, error())();
      }
    },
    failAll(error) {
      const entries = pending.slice(first);
      pending = [];
      first = 0;
      waitingBytes = 0;
      for (const entry of entries) if (entry) rejecting(entry, error)();
    },
  };
}

function committed(entry: Pending, read: (entry: AskedCommit) => CommitResult): () => void {
  if (entry.commit === undefined) throw new TypeError('the writer answered a commit that was not asked');
  const result = read(entry);
  return settling(entry, () => entry.resolve(result));
}

function numbered(entry: Pending, result: number): () => void {
  if (entry.commit !== undefined) throw new TypeError('the writer did not answer the commit');
  return settling(entry, () => entry.resolve(result));
}

function rejecting(entry: Pending, error: Error): () => void {
  return settling(entry, () => entry.reject(error));
}

/** Once: what has waited too long is answered already. */
function settling(entry: Pending, settle: () => void): () => void {
  return () => {
    if (entry.settled) return;
    entry.settled = true;
    settle();
  };
}

function sizeOf(commit: Commit): number {
  let bytes = 0;
  for (const put of commit.puts ?? []) bytes += put.value.length;
  return bytes;
}
