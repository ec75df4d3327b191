import { checkCommit } from './commit-check.ts';
import { compareKeys } from './key-order.ts';
import {
  type Commit,
  type CommitResult,
  type Kv,
  type KvChange,
  KvCompactedError,
  type KvEntry,
  KvUnavailableError,
  type LeaseId,
  type RangeOptions,
  type RangeResult,
} from './kv.ts';
import { encodeRecord } from './records.ts';
import { cutAtBytes, sizeByPages } from './pages.ts';
import { createWatchers, type HistorySlice } from './watchers.ts';

interface Step {
  readonly change: KvChange;
  readonly before: KvEntry | undefined;
}

interface Lease {
  readonly ttlMs: number;
  readonly keys: Set<string>;
  timer: NodeJS.Timeout;
}

/** Watchers get the very object that was written: that it says what its value says, and is altered by nobody, is seen to here. */
function asWritten(record: object, value: string): object {
  if (encodeRecord(record) !== value) throw new TypeError('a record was altered after it was written');
  return frozen(record);
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) frozen(member);
  return Object.freeze(value);
}

/** What a timer can wait at most; longer leases do not occur in tests. */
const longestTimerMs = 2 ** 31 - 1;

/** The whole contract of the port without a disk, for tests. History is kept until `compact`. */
export function createMemoryKv(): Kv {
  const current = new Map<string, KvEntry>();
  const leases = new Map<LeaseId, Lease>();
  const leaseOf = new Map<string, LeaseId>();
  /** Steps of the revisions after `floor`; index 0 is revision floor + 1. */
  let history: (readonly Step[])[] = [];
  let head = 0;
  let floor = 0;
  let lastLease = 0;
  let closed = false;
  const watchers = createWatchers(readHistory);

  function readHistory(_prefix: string, after: number, maxRevisions: number): HistorySlice {
    if (after < floor) return { compacted: true, floor };
    const upTo = Math.min(head, after + maxRevisions);
    const batches = history
      .slice(after - floor, Math.max(0, upTo - floor))
      .map((steps, i) => ({ revision: after + 1 + i, changes: steps.map((step) => step.change) }));
    return { compacted: false, batches, upTo, more: upTo < head };
  }

  function apply(commit: Commit): number {
    const revision = head + 1;
    const steps: Step[] = [];
    for (const { key, value, record, lease } of commit.puts ?? []) {
      const before = current.get(key);
      const entry = { key, value, createRevision: before?.createRevision ?? revision, modRevision: revision };
      current.set(key, entry);
      attach(key, lease);
      const told = record === undefined ? entry : { ...entry, record: asWritten(record, value) };
      steps.push({ change: { key, entry: told, revision }, before });
    }
    for (const key of commit.deletes ?? []) {
      const before = current.get(key);
      if (before === undefined) continue;
      current.delete(key);
      attach(key, undefined);
      steps.push({ change: { key, revision }, before });
    }
    if (steps.length === 0) return head;
    head = revision;
    history.push(steps);
    watchers.publish({ revision, changes: steps.map((step) => step.change) });
    return revision;
  }

  function attach(key: string, lease: LeaseId | undefined): void {
    const old = leaseOf.get(key);
    if (old !== undefined) leases.get(old)?.keys.delete(key);
    if (lease === undefined) {
      leaseOf.delete(key);
    } else {
      leaseOf.set(key, lease);
      leases.get(lease)?.keys.add(key);
    }
  }

  function commitNow(commit: Commit): CommitResult {
    for (const { lease } of commit.puts ?? []) {
      if (lease !== undefined && !leases.has(lease)) throw new Error(`lease ${lease} is gone`);
    }
    const failed = (commit.guards ?? [])
      .filter(({ key, modRevision }) => (current.get(key)?.modRevision ?? 0) !== modRevision)
      .map((guard) => guard.key);
    if (failed.length > 0) return { ok: false, failed };
    return { ok: true, revision: apply(commit) };
  }

  function entriesAt(revision: number): Map<string, KvEntry> {
    const entries = new Map(current);
    for (const step of history
      .slice(revision - floor)
      .toReversed()
      .flat()) {
      if (step.before === undefined) entries.delete(step.change.key);
      else entries.set(step.change.key, step.before);
    }
    return entries;
  }

  function select(prefix: string, options: RangeOptions, revision: number): KvEntry[] {
    const { after, reverse = false, limit } = options;
    const direction = reverse ? -1 : 1;
    return [...entriesAt(revision).values()]
      .filter(({ key }) => key.startsWith(prefix))
      .filter(({ key }) => after === undefined || compareKeys(key, after) * direction > 0)
      .sort((a, b) => compareKeys(a.key, b.key) * direction)
      .slice(0, limit);
  }

  function endLease(id: LeaseId): void {
    const lease = leases.get(id);
    if (lease === undefined) return;
    clearTimeout(lease.timer);
    const deletes = [...lease.keys];
    leases.delete(id);
    apply({ deletes });
  }

  function checkOpen(): void {
    if (closed) throw new KvUnavailableError('the store is closed', true);
  }

  async function range(prefix: string, options: RangeOptions = {}): Promise<RangeResult> {
    checkOpen();
    const revision = options.revision ?? head;
    if (revision < floor) throw new KvCompactedError(`revision ${revision} is compacted up to ${floor}`);
    if (revision > head) throw new RangeError(`revision ${revision} is not yet written (newest is ${head})`);
    const entries = select(prefix, options, revision);
    return options.bytes === undefined
      ? { entries, revision }
      : { ...cutAtBytes(entries, options.bytes), revision };
  }

  return {
    async get(key) {
      checkOpen();
      return current.get(key);
    },
    range,
    size: (prefix) => sizeByPages({ range }, prefix),
    async commit(commit) {
      checkOpen();
      checkCommit(commit);
      return commitNow(commit);
    },
    async head() {
      checkOpen();
      return head;
    },
    watch: (prefix, afterRevision, handlers) => watchers.watch(prefix, afterRevision, handlers),
    async grantLease(ttlMs) {
      checkOpen();
      const id = String(++lastLease);
      leases.set(id, {
        ttlMs,
        keys: new Set(),
        timer: setTimeout(endLease, Math.min(ttlMs, longestTimerMs), id).unref(),
      });
      return id;
    },
    async keepAlive(id) {
      checkOpen();
      return leases.get(id)?.timer.refresh() !== undefined;
    },
    async revokeLease(id) {
      checkOpen();
      endLease(id);
    },
    async compact(revision) {
      checkOpen();
      const next = Math.min(revision, head);
      if (next <= floor) return;
      history = history.slice(next - floor);
      floor = next;
    },
    async status() {
      return closed
        ? { kind: 'memory', connected: false, problem: 'the store is closed' }
        : { kind: 'memory', connected: true };
    },
    async close() {
      closed = true;
      watchers.closeAll();
      for (const lease of leases.values()) clearTimeout(lease.timer);
    },
  };
}
