import { Worker } from 'node:worker_threads';
import {
  type Commit,
  type CommitResult,
  type KvChange,
  type KvChangeBatch,
  KvUnavailableError,
} from '../kv.ts';
import {
  answers,
  encodeCommit,
  encodeOperation,
  type FromWriter,
  type ToWriter,
  type Wire,
  WireReader,
  type WriterOptions,
} from './protocol.ts';

/** The main thread's side of the writer thread. */
export interface WriterLink {
  commit(commit: Commit): Promise<CommitResult>;
  /** Resolves to the number answered; for revoke and compact that number means nothing. */
  ask(kind: 'grant' | 'keepAlive' | 'revoke' | 'compact', argument: number): Promise<number>;
  /** Why writes fail now. */
  readonly problem: string | undefined;
  /** Durable transactions since the thread started, for measuring how many commits share one. */
  readonly transactions: number;
  close(): Promise<void>;
}

export interface WriterLinkEvents {
  /**
   * Called in revision order, before the promise of the commit that made the batch settles. Without `isWatched` the
   * batch is empty.
   */
  onBatch(batch: KvChangeBatch): void;
  isWatched(): boolean;
  /** The thread is up; revisions up to `head` are in the file, whether or not they were answered. */
  onReady(head: number): void;
  onDamage(message: string): void;
}

interface Pending {
  readonly commit: Commit | undefined;
  readonly bytes: number;
  readonly sentAt: number;
  settled: boolean;
  resolve(result: never): void;
  reject(error: Error): void;
}

const maxPending = 20_000;
const maxPendingBytes = 256 * 1024 * 1024;
const answerTimeoutMs = 10_000;
const slowDiskMs = 2000;
const closeTimeoutMs = 5000;
const maxRestartDelayMs = 5000;

/**
 * Starts the writer thread and resolves when it has opened the database. A thread that dies is started again; what
 * it had not answered is reported as unknown, and what it had committed reaches the watchers through `onReady`.
 */
export async function startWriter(options: WriterOptions, events: WriterLinkEvents): Promise<WriterLink> {
  let worker: Worker | undefined;
  let ready = false;
  let closing = false;
  let restartDelayMs = 0;
  let problem: string | undefined;
  let transactions = 0;
  let unsent: Wire = [];
  let flushing = false;
  /** In the order of their operations, which is the order of the answers. */
  let pending: Pending[] = [];
  let firstPending = 0;
  let pendingBytes = 0;
  let onClosed: (() => void) | undefined;

  function flush(): void {
    flushing = false;
    if (!ready || worker === undefined || unsent.length === 0) return;
    const message: ToWriter = { kind: 'operations', wire: unsent };
    unsent = [];
    worker.postMessage(message, []);
  }

  function enqueue<T>(commit: Commit | undefined, encode: (wire: Wire) => void): Promise<T> {
    if (closing) return Promise.reject(new KvUnavailableError('the store is closed', true));
    if (pending.length - firstPending >= maxPending || pendingBytes > maxPendingBytes) {
      return Promise.reject(new KvUnavailableError('too many writes wait for the disk already', true));
    }
    const bytes = sizeOf(commit);
    pendingBytes += bytes;
    encode(unsent);
    if (!flushing) {
      flushing = true;
      // Everything the current round of events asks for travels in one message.
      setImmediate(flush);
    }
    return new Promise<T>((resolve, reject) => {
      pending.push({ commit, bytes, sentAt: performance.now(), settled: false, resolve, reject });
    });
  }

  function nextPending(): Pending {
    const entry = pending[firstPending++];
    if (entry === undefined) throw new Error('the writer answered what was not asked');
    pendingBytes -= entry.bytes;
    if (firstPending > 1024 && firstPending * 2 > pending.length) {
      pending = pending.slice(firstPending);
      firstPending = 0;
    }
    return entry;
  }

  function onAnswers(wire: WireReader): void {
    const settle: (() => void)[] = [];
    while (!wire.done) settle.push(readAnswer(wire));
    // Only now, when the watchers have seen all of it: whoever awaited a commit finds it in every view.
    for (const run of settle) run();
  }

  function readAnswer(wire: WireReader): () => void {
    const kind = wire.number();
    if (kind === answers.expired) {
      publishDeleted(wire);
      return () => {};
    }
    const entry = nextPending();
    switch (kind) {
      case answers.applied: {
        const result = readApplied(wire, entry.commit ?? {});
        return () => settleWith(entry, result);
      }
      case answers.conflict: {
        const guards = entry.commit?.guards ?? [];
        const failed = Array.from({ length: wire.number() }, () => guards[wire.number()]?.key ?? '');
        return () => settleWith(entry, { ok: false, failed });
      }
      case answers.unavailable: {
        const certainlyNotApplied = wire.number() === 1;
        return failWith(entry, new KvUnavailableError(wire.text(), certainlyNotApplied));
      }
      case answers.leaseGone:
        return failWith(entry, new Error(`lease ${wire.text()} is gone`));
      case answers.number: {
        const answer = wire.number();
        return () => settleWith(entry, answer);
      }
      case answers.revoked:
        publishDeleted(wire);
        return () => settleWith(entry, 0);
      case answers.done:
        return () => settleWith(entry, 0);
      default:
        throw new TypeError(`unknown answer ${kind}`);
    }
  }

  function readApplied(wire: WireReader, { puts = [], deletes = [] }: Commit): CommitResult {
    const revision = wire.number();
    const changes: KvChange[] = [];
    const watched = events.isWatched();
    for (const { key, value } of puts) {
      const createRevision = wire.number();
      if (watched)
        changes.push({ key, revision, entry: { key, value, createRevision, modRevision: revision } });
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

  function rejectPending(reason: (entry: Pending) => KvUnavailableError): void {
    const entries = pending.slice(firstPending);
    pending = [];
    firstPending = 0;
    pendingBytes = 0;
    unsent = [];
    for (const entry of entries) failWith(entry, reason(entry))();
  }

  function onMessage(message: FromWriter, opened: PromiseWithResolvers<void>): void {
    switch (message.kind) {
      case 'ready':
        ready = true;
        restartDelayMs = 0;
        ({ problem } = message);
        events.onReady(message.head);
        opened.resolve();
        flush();
        return;
      case 'refused':
        problem = message.message;
        if (message.fault === 'damaged') events.onDamage(message.message);
        opened.reject(new KvUnavailableError(message.message, true));
        return;
      case 'answers':
        ({ transactions } = message);
        onAnswers(new WireReader(message.wire));
        return;
      case 'problem':
        ({ problem } = message);
        if (message.damaged && problem !== undefined) events.onDamage(problem);
        return;
      case 'closed':
        onClosed?.();
    }
  }

  function start(): Promise<void> {
    const opened = Promise.withResolvers<void>();
    const thread = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      workerData: options,
      execArgv: [],
    });
    worker = thread;
    let cause: unknown;
    thread.on('message', (message: FromWriter) => onMessage(message, opened));
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => {
      const reason = `the writer thread of ${options.dir} ended: ${cause instanceof Error ? cause.message : 'no reason given'}`;
      opened.reject(new KvUnavailableError(reason, true, { cause }));
      onExit(reason);
    });
    return opened.promise;
  }

  function onExit(reason: string): void {
    const wasReady = ready;
    ready = false;
    rejectPending(() => new KvUnavailableError(reason, !wasReady));
    onClosed?.();
    if (closing) return;
    problem ??= reason;
    setTimeout(() => {
      // A failed start ends in another exit, which tries again, less and less often.
      if (!closing) start().catch(() => {});
    }, restartDelayMs);
    restartDelayMs = Math.min(maxRestartDelayMs, restartDelayMs * 2 + 100);
  }

  function checkDeadlines(): void {
    const limit = performance.now() - answerTimeoutMs;
    for (const entry of pending.slice(firstPending)) {
      if (entry.sentAt > limit) return;
      // It stays in the queue: its answer may still come and must be told apart from the next one.
      failWith(
        entry,
        new KvUnavailableError(
          `the disk of ${options.dir} has not answered for ${answerTimeoutMs / 1000} s`,
          false,
        ),
      )();
    }
  }

  const deadlines = setInterval(checkDeadlines, 1000).unref();

  async function close(): Promise<void> {
    if (closing) return;
    closing = true;
    clearInterval(deadlines);
    flush();
    if (worker === undefined || !ready) {
      await worker?.terminate();
      return;
    }
    const message: ToWriter = { kind: 'close' };
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, closeTimeoutMs);
      onClosed = () => {
        clearTimeout(timer);
        resolve();
      };
      worker?.postMessage(message, []);
    });
    await worker.terminate();
    rejectPending(() => new KvUnavailableError('the store was closed before it answered', false));
  }

  try {
    await start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    commit: (commit) => enqueue<CommitResult>(commit, (wire) => encodeCommit(wire, commit)),
    ask: (kind, argument) => enqueue<number>(undefined, (wire) => encodeOperation(wire, kind, argument)),
    get problem() {
      const oldest = pending[firstPending];
      if (oldest !== undefined && performance.now() - oldest.sentAt > slowDiskMs) {
        return problem ?? `the disk of ${options.dir} has not answered for ${slowDiskMs / 1000} s`;
      }
      return problem;
    },
    get transactions() {
      return transactions;
    },
    close,
  };
}

function settleWith(entry: Pending, result: unknown): void {
  if (entry.settled) return;
  entry.settled = true;
  entry.resolve(result as never);
}

function failWith(entry: Pending, error: Error): () => void {
  return () => {
    if (entry.settled) return;
    entry.settled = true;
    entry.reject(error);
  };
}

function sizeOf(commit: Commit | undefined): number {
  let bytes = 0;
  for (const put of commit?.puts ?? []) bytes += put.value.length;
  return bytes;
}
