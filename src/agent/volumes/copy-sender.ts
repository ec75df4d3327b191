import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../core/model/values.ts';
import type { VolumeObservation } from '../../core/protocol/agent-protocol.ts';
import { backOffMs } from '../back-off.ts';
import { type Log } from '../log.ts';
import type { CopyLink, SendOutcome } from './copy-link.ts';
import { CopyRoom, isShortOfRoom } from './copy-room.ts';
import {
  type Copy,
  type CopyName,
  copyText,
  isSameCopy,
  type OpenVolume,
  type SnapshotCopies,
} from './volume-engine.ts';

const BACK_OFF = { baseMs: 500, capMs: 10_000 };
const FAILED_AFTER = 3;
/** The receiver has not looked at the copy: nothing is changed by that. */
const BUSY: ReadonlySet<string> = new Set(['receiving', 'too_many_streams']);
/** Room is more than copies: above this share of the volume nothing is kept for copies that lag behind. */
const TIGHT = 0.9;
/** Of an engine that keeps two copies: for so many rounds a target holds up others that have the newest, and what nobody else waits for. */
const HELD_ROUNDS = 6;
const HELD_ALONE_ROUNDS = 120;

export interface SenderOptions {
  readonly volumeId: string;
  readonly engine: string;
  readonly epoch: number;
  readonly volume: OpenVolume;
  readonly copies: SnapshotCopies;
  readonly intervalMs: number;
  readonly link: CopyLink;
  readonly onChange: () => void;
  readonly log: Log;
}

interface Target {
  readonly node: string;
  confirmed: Copy | undefined;
  /** Under way, and what it is the difference to. */
  sending: Copy | undefined;
  from: CopyName | undefined;
  /** The engine reads what is to be sent. */
  isPreparing: boolean;
  /** What the next one builds on, when nothing is confirmed yet in this process: a guess that the receiver corrects. */
  guess: CopyName | undefined;
  /** What it has is known from what it said. */
  hasAnswered: boolean;
  failures: number;
  retryAtMs: number;
  problem: string | undefined;
}

type CopyState = NonNullable<VolumeObservation['copies']>[number];

/**
 * Takes a state of the volume every few seconds and brings it to each node that keeps a copy; one that is slow or away holds
 * up no other. All it knows can be lost: the receiver reports what it has.
 */
export class CopySender {
  readonly #options: SenderOptions;
  readonly #targets = new Map<string, Target>();
  readonly #stop = new AbortController();
  readonly #room = new CopyRoom();
  /** Until when the volume was known to be equal to this copy, on the monotonic clock. */
  readonly #equalMs = new Map<string, number>();
  /** What was there when it began: until a target has said what it has, any of them may be what both have. */
  #before: ReadonlySet<string> = new Set();
  #newest: Copy | undefined;
  /** Rounds in a row without a take. */
  #held = 0;
  #running: Promise<void> | undefined;
  /** Why nothing can be taken. */
  #problem: string | undefined;
  #leftOver: string | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  setTargets(nodes: readonly string[]): void {
    for (const node of this.#targets.keys()) if (!nodes.includes(node)) this.#targets.delete(node);
    for (const node of nodes) {
      if (this.#targets.has(node)) continue;
      const fresh = { confirmed: undefined, sending: undefined, from: undefined, isPreparing: false };
      const rest = { guess: undefined, hasAnswered: false, problem: undefined, failures: 0, retryAtMs: 0 };
      this.#targets.set(node, { node, ...fresh, ...rest });
    }
    this.#running ??= this.#run();
  }

  state(): readonly CopyState[] {
    return [...this.#targets.values()].map(({ node, confirmed, failures, problem: own }) => {
      // Neither hides the other: what is left when one is mended is known before. First what holds for every target.
      const problem = [this.#problem, own].filter((one) => one !== undefined).join('; ');
      const equal = confirmed === undefined ? undefined : this.#equalMs.get(copyText(confirmed));
      // How far behind it is has to be known: it may be a copy of an earlier process.
      const state = failures >= FAILED_AFTER ? 'failed' : equal === undefined ? 'syncing' : 'live';
      return {
        nodeId: node,
        state,
        ...(confirmed === undefined ? {} : { sequence: confirmed.sequence }),
        ...(equal === undefined ? {} : { ageMs: Math.round(performance.now() - equal) }),
        ...(problem === '' ? {} : { problem }),
      };
    });
  }

  /** The newest copy and who has it; undefined: none was taken by this sender yet. */
  newest(): { readonly sequence: number; readonly on: readonly string[] } | undefined {
    const copy = this.#newest;
    if (copy === undefined) return undefined;
    const on = [...this.#targets.values()].filter(({ confirmed }) => isSameCopy(copy, confirmed));
    return { sequence: copy.sequence, on: on.map(({ node }) => node) };
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { copies, intervalMs, log, volumeId } = this.#options;
    let guess: CopyName | undefined;
    try {
      const there = await copies.list();
      guess = there.at(-1);
      this.#before = new Set(there.map(copyText));
    } catch (error) {
      log.warn('the copies of a volume cannot be listed', { volume: volumeId, problem: messageOf(error) });
    }
    while (!signal.aborted) {
      const begun = performance.now();
      for (const target of this.#targets.values()) if (!target.hasAnswered) target.guess ??= guess;
      if (this.#targets.size > 0) await this.#round();
      const leftMs = Math.max(20, begun + intervalMs - performance.now());
      await pause(leftMs, undefined, { signal }).catch(() => {});
    }
  }

  async #round(): Promise<void> {
    const { copies, epoch } = this.#options;
    try {
      if (await this.#isHeld()) return;
      this.#held = 0;
      const before = performance.now();
      const taken = await copies.take(epoch, this.#newest);
      this.#newest = taken ?? this.#newest;
      if (this.#newest !== undefined) this.#equalMs.set(copyText(this.#newest), before);
    } catch (error) {
      const message = messageOf(error);
      this.#tell(`take_failed: ${message}`);
      await this.#bringLast();
      if (isShortOfRoom(message)) await this.#makeRoom();
      return;
    }
    this.#tell(undefined);
    for (const target of this.#targets.values()) void this.#bring(target);
    await this.#tidy();
  }

  /** What was taken before has not reached all of them, perhaps, and is newer than what they have. */
  async #bringLast(): Promise<void> {
    const last = this.#newest;
    if (last === undefined || !(await this.#has(last).catch(() => false))) return;
    for (const target of this.#targets.values()) void this.#bring(target);
  }

  /**
   * A take would drop what a target is being sent, or the next difference for it is made from: that would be a whole copy, over and over where one takes longer
   * than a round. It waits, but not for ever: not for a way that is dead, and less long while others have the newest.
   */
  async #isHeld(): Promise<boolean> {
    const { copies } = this.#options;
    const newest = this.#newest;
    if (copies.keepsTwo !== true || newest === undefined) return false;
    const targets = [...this.#targets.values()];
    for (const target of targets) void this.#bring(target);
    const older = (await copies.list()).filter((copy) => !isSameCopy(copy, newest));
    const needing = targets.filter((target) =>
      older.some((copy) => isSent(target, copy) || isParent(target, copy)),
    );
    const isAwaited = targets.some(({ confirmed }) => isSameCopy(newest, confirmed));
    // Until that is over, what is taken now could be sent to nobody.
    if (!isAwaited && targets.some(({ sending }) => sending !== undefined)) return true;
    // Of what changes meanwhile a copy would be no state of the volume at all.
    if (needing.some(({ isPreparing }) => isPreparing)) return true;
    if (needing.length === 0 || this.#held >= (isAwaited ? HELD_ROUNDS : HELD_ALONE_ROUNDS)) return false;
    this.#held += 1;
    return true;
  }

  #tell(problem: string | undefined): void {
    if (this.#stop.signal.aborted || problem === this.#problem) return;
    const { log, onChange, volumeId } = this.#options;
    if (problem !== undefined) log.warn('no copy of a volume was taken', { volume: volumeId, problem });
    this.#problem = problem;
    onChange();
  }

  /** Whatever becomes of that, the copy was taken. */
  async #tidy(): Promise<void> {
    try {
      await this.#prune();
      this.#leftOver = undefined;
    } catch (error) {
      const problem = messageOf(error);
      const { log, volumeId } = this.#options;
      if (!this.#stop.signal.aborted && problem !== this.#leftOver)
        log.warn('copies that nobody needs any more were not removed', { volume: volumeId, problem });
      this.#leftOver = problem;
      if (isShortOfRoom(problem)) await this.#makeRoom();
    }
  }

  /** The volume is full, most likely of what copies hold: a later round must not find it so. */
  async #makeRoom(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { copies } = this.#options;
    // What it did not come to is dropped next time.
    await this.#prune().catch(() => {});
    // Not waited for: whoever ends this sender would wait, too.
    if (copies.reclaim !== undefined && (await this.#room.settled(0)))
      this.#room.reclaim(copies.reclaim(), () => {});
  }

  async #bring(target: Target): Promise<void> {
    const copy = this.#newest;
    if (copy === undefined || target.sending !== undefined || isSameCopy(copy, target.confirmed)) return;
    if (performance.now() < target.retryAtMs) return;
    target.sending = copy;
    try {
      if (!(await this.#tried(target, copy)) && target.retryAtMs === 0) {
        // Now it is known what the receiver has: a last copy is not to wait for the next round.
        await this.#tried(target, copy);
      }
    } catch (error) {
      await this.#failed(target, {
        ok: false,
        where: 'way',
        reason: 'send_failed',
        message: messageOf(error),
      });
    } finally {
      target.sending = undefined;
      target.from = undefined;
      this.#options.onChange();
    }
  }

  async #tried(target: Target, copy: Copy): Promise<boolean> {
    const outcome = await this.#send(target, copy, target.confirmed ?? target.guess);
    if (outcome.ok) this.#succeeded(target, copy);
    else await this.#failed(target, outcome);
    return outcome.ok || this.#stop.signal.aborted;
  }

  async #send(target: Target, copy: Copy, from: CopyName | undefined): Promise<SendOutcome> {
    const { copies, link, volumeId, engine, epoch } = this.#options;
    const parent = from !== undefined && (await this.#has(from)) ? from : undefined;
    target.from = parent;
    target.isPreparing = true;
    const { stream, stop } = await copies.send(copy, parent).finally(() => {
      target.isPreparing = false;
    });
    try {
      // Without its sender, or its target, nothing kept what was read from being replaced.
      if (this.#stop.signal.aborted || this.#targets.get(target.node) !== target)
        throw new Error('the node is to get no copy any more');
      const { sequence, takenAt } = copy;
      const built = parent === undefined ? {} : { parent: parent.sequence, parentEpoch: parent.epoch };
      return await link.send(
        {
          volumeId,
          volumeEpoch: epoch,
          target: target.node,
          header: { engine, sequence, takenAt, ...built },
        },
        stream,
        this.#stop.signal,
      );
    } finally {
      stop();
    }
  }

  async #has(copy: CopyName): Promise<boolean> {
    return (await this.#options.copies.list()).some((one) => isSameCopy(one, copy));
  }

  #succeeded(target: Target, copy: Copy): void {
    target.hasAnswered = true;
    target.confirmed = copy;
    target.guess = undefined;
    target.failures = 0;
    target.retryAtMs = 0;
    target.problem = undefined;
  }

  async #failed(target: Target, outcome: Extract<SendOutcome, { readonly ok: false }>): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const problem = `${outcome.reason}: ${outcome.message}`;
    if (BUSY.has(outcome.reason)) {
      target.problem ??= problem;
      target.retryAtMs = performance.now() + BACK_OFF.baseMs;
      return;
    }
    target.failures += 1;
    if (problem !== target.problem) {
      const { volumeId } = this.#options;
      this.#options.log.warn('sending a copy failed', { volume: volumeId, node: target.node, problem });
    }
    target.problem = problem;
    target.retryAtMs = performance.now() + backOffMs(target.failures, BACK_OFF);
    if (outcome.where !== 'receiver') return;
    target.hasAnswered = true;
    // What it has in common with us, or a whole copy.
    const have = new Set(outcome.have ?? []);
    const common = (await this.#options.copies.list()).findLast((one) => have.has(copyText(one)));
    target.confirmed = common;
    target.guess = undefined;
    // The same once more would fail once more.
    const isOther = common === undefined ? target.from !== undefined : !isSameCopy(common, target.from);
    if (outcome.have !== undefined && isOther) target.retryAtMs = 0;
  }

  /** Keeps what a next difference may be made from, and nothing else: it holds room of the volume. */
  async #prune(): Promise<void> {
    const { copies, volume } = this.#options;
    const all = await copies.list();
    const { sizeBytes, usedBytes } = await volume.measure();
    const targets = [...this.#targets.values()];
    const unsure = targets.some(({ confirmed }) => confirmed === undefined);
    const tight = copies.keepsTwo !== true && usedBytes > sizeBytes * TIGHT;
    const isFrom = (copy: CopyName): boolean => targets.some((target) => isSent(target, copy));
    const mayBeParent = (copy: CopyName): boolean =>
      targets.some((target) => isParent(target, copy)) ||
      (unsure && (copy.epoch < this.#options.epoch || this.#before.has(copyText(copy))));
    for (const copy of all) {
      if (isSameCopy(copy, this.#newest) || isFrom(copy) || (!tight && mayBeParent(copy))) continue;
      await copies.drop(copy);
    }
    const left = (await copies.list()).map(copyText);
    // What a target has is as old as it is, whether it is still kept here or not.
    const known = new Set([
      ...left,
      ...targets.flatMap(({ confirmed }) => (confirmed ? [copyText(confirmed)] : [])),
    ]);
    for (const name of this.#equalMs.keys()) if (!known.has(name)) this.#equalMs.delete(name);
  }
}

function isSent({ sending, from }: Target, copy: CopyName): boolean {
  return isSameCopy(copy, sending) || isSameCopy(copy, from);
}

function isParent({ confirmed, guess }: Target, copy: CopyName): boolean {
  return isSameCopy(copy, confirmed) || isSameCopy(copy, guess);
}
