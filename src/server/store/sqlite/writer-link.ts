import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Commit, type CommitResult, KvUnavailableError, type RowPack } from '../kv.ts';
import { StoreFormatError } from '../record-codec.ts';
import { threadHeap } from '../../thread-heaps.ts';
import { newTaken, ReadAhead } from './row-packs.ts';
import { type BatchEvents, createPendingAnswers } from './pending-answers.ts';
import {
  encodeCommit,
  encodeOperation,
  type FromWriter,
  type ToWriter,
  type FlatList,
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
  /** The live records as the thread reads them while it is opened; undefined: it does not, or they were taken. */
  takeReadAhead(): AsyncIterable<RowPack> | undefined;
  /** Resolves when the live records have been checked; until then nothing is written. Rejects when they are damaged. */
  readonly live: Promise<void>;
  /** Has all content checked. Resolves when it was. Rejects when it is damaged. */
  verify(): Promise<void>;
  close(): Promise<void>;
}

export interface WriterLinkEvents extends BatchEvents {
  /** The thread is up; revisions up to `head` are in the file, whether or not they were answered. */
  onReady(head: number): void;
  onDamage(message: string): void;
}

const answerTimeoutMs = 10_000;
const slowDiskMs = 2000;
const closeTimeoutMs = 5000;
const maxRestartDelayMs = 5000;
/** A long round of events does not keep the writer waiting: the first of what it asks for is being synced while the rest is decided. */
const operationsPerMessage = 24;

/**
 * Starts the writer thread and resolves when the database can be read. A thread that dies is started again; what
 * it had not answered is reported as unknown, and what it had committed reaches the watchers through `onReady`.
 */
export async function startWriter(
  options: Omit<WriterOptions, 'taken'>,
  events: WriterLinkEvents,
): Promise<WriterLink> {
  const pending = createPendingAnswers(events);
  let worker: Worker | undefined;
  let ready = false;
  let closing = false;
  let verifying = false;
  let restartDelayMs = 0;
  let problem: string | undefined;
  let transactions = 0;
  let unsent: FlatList = [];
  let unsentOperations = 0;
  /** Asked for in this round of events; undefined: nothing yet. */
  let asked: number | undefined;
  /** The round before asked for one thing. */
  let isLone = false;
  let onClosed: (() => void) | undefined;
  const taken = newTaken();
  let readAhead: ReadAhead | undefined;
  const live = Promise.withResolvers<void>();
  const verified = Promise.withResolvers<void>();
  // The opener of the store awaits them; a restarted thread has no opener.
  for (const { promise } of [live, verified]) promise.catch(() => undefined);

  function send(message: ToWriter): void {
    worker?.postMessage(message, []);
  }

  function endRound(): void {
    isLone = asked === 1;
    asked = undefined;
    flush();
  }

  function flush(alone = false): void {
    if (!ready || unsent.length === 0) return;
    const wire = unsent;
    unsent = [];
    unsentOperations = 0;
    send({ kind: 'operations', wire, alone });
  }

  function enqueue<T>(add: () => Promise<T> | undefined, encode: (wire: FlatList) => void): Promise<T> {
    if (closing) return Promise.reject(new KvUnavailableError('the store is closed', true));
    const answer = add();
    if (answer === undefined) {
      return Promise.reject(new KvUnavailableError('too many writes wait for the disk already', true));
    }
    encode(unsent);
    unsentOperations++;
    // What a short round of events asks for travels in one message.
    if (asked === undefined) setImmediate(endRound);
    asked = (asked ?? 0) + 1;
    // Where one request follows another there is nothing to wait for: the thread begins while this one goes on.
    const alone = isLone && pending.count === 1;
    if (unsentOperations === operationsPerMessage || alone) flush(alone);
    return answer;
  }

  function failOpening(opened: PromiseWithResolvers<void>, error: Error): void {
    for (const { reject } of [opened, live, verified]) reject(error);
  }

  function onMessage(message: FromWriter, opened: PromiseWithResolvers<void>): void {
    switch (message.kind) {
      case 'opened':
        if (message.readAhead) readAhead = new ReadAhead(taken);
        opened.resolve();
        return;
      case 'rows':
        if (message.pack !== undefined) readAhead?.add(message.pack);
        else readAhead?.end(message.whole);
        return;
      case 'ready':
        ready = true;
        restartDelayMs = 0;
        ({ problem } = message);
        events.onReady(message.head);
        live.resolve();
        if (verifying) send({ kind: 'verify' });
        flush();
        return;
      case 'verified':
        verified.resolve();
        return;
      case 'refused':
        problem = message.message;
        if (message.fault === 'damaged') events.onDamage(message.message);
        failOpening(
          opened,
          message.fault === 'layout'
            ? new StoreFormatError(`store_format_newer: ${message.message}`)
            : new KvUnavailableError(message.message, true),
        );
        return;
      case 'answers':
        ({ transactions } = message);
        pending.settle(new WireReader(message.wire));
        return;
      case 'problem':
        ({ problem } = message);
        if (!message.damaged || problem === undefined) return;
        events.onDamage(problem);
        verified.reject(new KvUnavailableError(problem, true));
        return;
      case 'closed':
        onClosed?.();
    }
  }

  function start(isFirst = false): Promise<void> {
    const opened = Promise.withResolvers<void>();
    // `.ts` in a checkout, `.js` in an installation.
    const thread = `./writer-thread${extname(import.meta.url)}`;
    worker = new Worker(new URL(thread, import.meta.url), {
      // Nobody waits for live records a second time.
      workerData: { ...options, readAhead: isFirst && options.readAhead, taken },
      execArgv: [],
      resourceLimits: threadHeap(),
    });
    let cause: unknown;
    worker.on('message', (message: FromWriter) => onMessage(message, opened));
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      const detail = cause instanceof Error ? cause.message : 'no reason given';
      const reason = `the writer thread of ${options.dir} ended: ${detail}`;
      const error = new KvUnavailableError(reason, true, { cause });
      readAhead?.end(false);
      for (const { reject } of [opened, live]) reject(error);
      // Who ends it does not wait for the rest.
      if (!closing) verified.reject(error);
      onExit(reason);
    });
    return opened.promise;
  }

  function onExit(reason: string): void {
    // What was asked while no thread was up has never been sent.
    const neverSent = !ready;
    ready = false;
    unsent = [];
    unsentOperations = 0;
    pending.failAll(new KvUnavailableError(reason, neverSent));
    onClosed?.();
    if (closing) return;
    problem ??= reason;
    setTimeout(() => {
      // A failed start ends in another exit, which tries again, less and less often.
      if (!closing) start().catch(() => {});
    }, restartDelayMs);
    restartDelayMs = Math.min(maxRestartDelayMs, restartDelayMs * 2 + 100);
  }

  const notAnswering = (ms: number): string =>
    `the disk of ${options.dir} has not answered for ${ms / 1000} s`;
  const deadlines = setInterval(() => {
    pending.failOlderThan(
      answerTimeoutMs,
      () => new KvUnavailableError(notAnswering(answerTimeoutMs), false),
    );
  }, 1000).unref();

  async function close(): Promise<void> {
    if (closing) return;
    closing = true;
    clearInterval(deadlines);
    flush();
    if (ready) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, closeTimeoutMs);
        onClosed = () => {
          clearTimeout(timer);
          resolve();
        };
        send({ kind: 'close' });
      });
    }
    await worker?.terminate();
    pending.failAll(new KvUnavailableError('the store was closed before it answered', false));
  }

  try {
    await start(true);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    commit: (commit) =>
      enqueue(
        () => pending.addCommit(commit),
        (wire) => encodeCommit(wire, commit),
      ),
    ask: (kind, argument) => enqueue(pending.addNumber, (wire) => encodeOperation(wire, kind, argument)),
    get problem() {
      return problem ?? (pending.oldestMs > slowDiskMs ? notAnswering(slowDiskMs) : undefined);
    },
    get transactions() {
      return transactions;
    },
    takeReadAhead: () => readAhead?.take(),
    live: live.promise,
    verify() {
      if (!verifying && ready) send({ kind: 'verify' });
      verifying = true;
      return verified.promise;
    },
    close,
  };
}
