import { RunningTimeout } from '../../clock.ts';
import type { KvChange, KvChangeBatch, KvEntry, Watch, WatchHandlers } from '../kv.ts';
import { backOffMs } from './back-off.ts';
import type { EtcdCluster, Stream } from './cluster.ts';
import type { Fault } from './fault.ts';
import type { KeySpace } from './key-space.ts';
import { METHODS, type WireEvent, type WireKeyValue, type WireWatchResponse } from './messages.ts';
import type { SentRecords } from './sent-records.ts';

const DELETE = 1;
const RECONNECT_BASE_MS = 50;
const RECONNECT_MAX_MS = 2_000;

export interface WatchContext {
  readonly cluster: EtcdCluster;
  readonly keys: KeySpace;
  readonly readHead: () => Promise<number>;
  readonly sent: SentRecords;
  readonly onClosed: (watch: EtcdWatch) => void;
}

/** Takes what a watch of the whole store delivers, after those whom that watch is for. */
export interface WatchFollower {
  /** Without changes: nothing happened up to this revision. */
  onBatch(batch: KvChangeBatch): void;
  /** The watch is closed, maybe before it has told everybody of a batch. `lost`: why what was told so far counts no more. */
  onLeft(lost?: string): void;
}

/**
 * One watch, on a stream of its own, that outlives connections. `#position` is the last revision whose changes were
 * delivered; it moves with the events themselves, never with a response's header, which may run ahead of events that
 * are still on their way. A stream that breaks is opened again from `#position`.
 */
export class EtcdWatch implements Watch {
  readonly #context: WatchContext;
  readonly #prefix: string;
  readonly #handlers: WatchHandlers;
  #position: number;
  readonly #followers = new Set<WatchFollower>();
  /** Events of the revision that may go on in the next fragment. */
  #held: WireEvent[] = [];
  #clusterId: string | undefined;
  #stream: Stream | undefined;
  #creation: RunningTimeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #attempt = 0;
  #open = true;

  constructor(context: WatchContext, prefix: string, afterRevision: number, handlers: WatchHandlers) {
    this.#context = context;
    this.#prefix = prefix;
    this.#handlers = handlers;
    this.#position = afterRevision;
    // After a loss a list said what was stored meanwhile: this watch does not bring it.
    if (this.reportsProgress) context.sent.clear();
    this.#connect();
  }

  get position(): number {
    return this.#position;
  }

  get reportsProgress(): boolean {
    return this.#handlers.onProgress !== undefined;
  }

  /** Every change of the store after `position` is told to the follower. */
  addFollower(follower: WatchFollower): void {
    this.#followers.add(follower);
  }

  removeFollower(follower: WatchFollower): void {
    this.#followers.delete(follower);
  }

  close(): void {
    this.#end();
  }

  #end(lost?: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#creation?.clear();
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#context.onClosed(this);
    const followers = [...this.#followers];
    this.#followers.clear();
    for (const follower of followers) follower.onLeft(lost);
  }

  #connect(): void {
    const { cluster, keys } = this.#context;
    // Progress needs every revision of the store to pass by; the prefix is then kept to on this side.
    const bounds = this.reportsProgress ? keys.all : keys.bounds(this.#prefix);
    this.#held = [];
    this.#creation = new RunningTimeout(() => this.#abandon(), cluster.timeoutMs);
    // From the last delivered revision, not from the next: etcd takes a start at exactly the compacted revision
    // although deletions made in it are already forgotten. What was delivered before is dropped on arrival.
    const createRequest = {
      key: bounds.first,
      rangeEnd: bounds.end,
      startRevision: Math.max(1, this.#position),
      progressNotify: true,
      fragment: true,
    };
    this.#stream = cluster.stream(
      METHODS.watch,
      { createRequest },
      { onAnswer: (answer) => this.#receive(answer), onEnd: (fault) => this.#reconnect(fault) },
    );
  }

  /** The member took the connection and does not answer. */
  #abandon(): void {
    this.#stream?.abandon();
    this.#reconnect(undefined);
  }

  #reconnect(fault: Fault | undefined): void {
    if (!this.#open) return;
    this.#creation?.clear();
    clearTimeout(this.#timer);
    this.#stream?.close();
    if (fault?.kind === 'compacted') {
      this.#lose(fault.message);
      return;
    }
    const waitMs = backOffMs(this.#attempt, RECONNECT_BASE_MS, RECONNECT_MAX_MS);
    this.#attempt += 1;
    this.#timer = setTimeout(() => this.#connect(), waitMs);
  }

  #lose(reason: string, isOtherStore = false): void {
    if (!this.#open) return;
    // A watch of its own would take the revisions of another store for those of this one.
    this.#end(isOtherStore ? reason : undefined);
    this.#handlers.onLost(reason);
  }

  #receive(answer: WireWatchResponse): void {
    if (!this.#open) return;
    if (answer.canceled) {
      this.#cancelled(answer);
      return;
    }
    if (answer.created) {
      this.#created(answer);
      return;
    }
    if (answer.events.length > 0 || this.#held.length > 0) this.#take(answer);
    else this.#progress(answer.header.revision.toNumber());
  }

  #cancelled(answer: WireWatchResponse): void {
    const compacted = answer.compactRevision.toNumber();
    if (compacted > 0) {
      this.#lose(`changes after revision ${this.#position} were compacted at revision ${compacted}`);
      return;
    }
    if (/auth|permission|user name/.test(answer.cancelReason)) this.#context.cluster.forgetToken();
    else this.#stream?.abandon();
    this.#reconnect(undefined);
  }

  #created(answer: WireWatchResponse): void {
    this.#creation?.clear();
    this.#attempt = 0;
    const clusterId = answer.header.clusterId.toString();
    this.#clusterId ??= clusterId;
    if (this.#clusterId !== clusterId) this.#lose('the endpoints now lead to another etcd cluster', true);
    else if (answer.header.revision.toNumber() < this.#position) void this.#requireThatPositionExists();
  }

  /** A member may lag behind, but a store whose newest revision is below ours has lost data (restored, wiped). */
  async #requireThatPositionExists(): Promise<void> {
    try {
      const head = await this.#context.readHead();
      if (head < this.#position) {
        this.#lose(`revision ${this.#position} no longer exists; the newest is ${head}`, true);
      }
    } catch {
      // Nothing is known yet: the next connection asks again.
      if (this.#open) this.#abandon();
    }
  }

  /** Delivers every revision that is complete; with `fragment` set the last one may go on in the next response. */
  #take(answer: WireWatchResponse): void {
    const events = this.#held.length > 0 ? [...this.#held, ...answer.events] : answer.events;
    this.#held = [];
    let start = 0;
    while (start < events.length && this.#open) {
      const revision = revisionAt(events, start);
      let end = start + 1;
      while (end < events.length && revisionAt(events, end) === revision) end += 1;
      if (answer.fragment && end === events.length) {
        this.#held = events.slice(start);
        return;
      }
      if (revision > this.#position) this.#deliver(revision, events.slice(start, end));
      start = end;
    }
  }

  #deliver(revision: number, events: readonly WireEvent[]): void {
    this.#position = revision;
    const changes: KvChange[] = [];
    const followed = this.#followers.size > 0;
    for (const { type, kv } of events) {
      const key = this.#context.keys.fromEtcd(kv.key);
      if (key === '' || !(followed || key.startsWith(this.#prefix))) continue;
      changes.push(type === DELETE ? { key, revision } : { key, revision, entry: this.#entryOf(key, kv) });
    }
    const wanted = followed ? changes.filter(({ key }) => key.startsWith(this.#prefix)) : changes;
    try {
      if (wanted.length > 0) this.#handlers.onBatch({ revision, changes: wanted });
      else this.#handlers.onProgress?.(revision);
      for (const follower of this.#followers) follower.onBatch({ revision, changes });
    } catch (error) {
      // A watcher that failed half-way holds who knows what: it starts over from a list.
      this.#lose(`the watcher failed on revision ${revision}: ${String(error)}`);
    }
  }

  #entryOf(key: string, kv: WireKeyValue): KvEntry {
    const entry = {
      key,
      value: kv.value,
      createRevision: kv.createRevision.toNumber(),
      modRevision: kv.modRevision.toNumber(),
    };
    // Of the watch of the whole process alone: others begin with the past.
    const put = this.reportsProgress ? this.#context.sent.take(key, entry.value) : undefined;
    return put?.record === undefined ? entry : { ...entry, value: put.value, record: put.record };
  }

  /** etcd's own notice on an idle watch that is in step: it comes in order with the events. */
  #progress(revision: number): void {
    if (revision <= this.#position) return;
    this.#position = revision;
    this.#handlers.onProgress?.(revision);
    for (const follower of this.#followers) follower.onBatch({ revision, changes: [] });
  }
}

function revisionAt(events: readonly WireEvent[], index: number): number {
  return events[index]?.kv.modRevision.toNumber() ?? 0;
}
