import { endsByStop } from '../core/contract/log-end.ts';
import { parsedRecord } from '../core/model/values.ts';
import type { Frame } from './frames.ts';
import { RejectionError, UnreachableError } from './rejection.ts';
import { pause, pauseMs } from './retry.ts';

const FIRST_PAUSE_MS = 500;

export interface FollowSettings {
  readonly signal?: AbortSignal | undefined;
  /** Nobody is there, or not yet: asked again. */
  readonly isAway?: ((error: unknown) => boolean) | undefined;
}

/** Of a refusal, of an answer that is none of a control plane (a proxy before one that restarts), or of none at all. */
export function isAwayStatus(status: number | undefined): boolean {
  return status === undefined || status >= 500 || status === 429;
}

function isAwayNow(error: unknown): boolean {
  return (error instanceof RejectionError || error instanceof UnreachableError) && isAwayStatus(error.status);
}

/** For the question to get there, and for what was on its way at the stop: a few lines may come twice. */
const SPARE_SECONDS = 2;
/** An answer that lasted so long has told what was there when it began. */
const LASTED_MS = 2000;
/** Whoever waits so long for a message has read all that came. */
const IDLE_MS = 200;
/** So far it is gone back for the sake of one instance: those of the others come twice. */
const MOST_BACK_MS = 5 * 60_000;

/** On two clocks: one of them is set now and then, and the other may stand while a machine sleeps. */
interface Moment {
  readonly wallMs: number;
  readonly steadyMs: number;
}

function momentBefore(ms: number): Moment {
  return { wallMs: Date.now() - ms, steadyMs: performance.now() - ms };
}

function msSince({ wallMs, steadyMs }: Moment): number {
  return Math.max(0, Date.now() - wallMs, performance.now() - steadyMs);
}

/** One answer, as far as it was read. */
class Answer {
  readonly #from: Moment | undefined;
  readonly #began = momentBefore(0);
  /** Instances that were told not to be read, until they are: from when on nothing of them came. */
  readonly #away = new Map<string, Moment>();
  #tookMs = performance.now();
  /** How long the reader of this holds it up, less what it waited itself: by so much a message may be older than its reading. */
  #behindMs = 0;
  hasLines = false;
  stop: Moment | undefined;
  hasLasted = false;

  constructor(from: Moment | undefined) {
    this.#from = from;
  }

  take(frame: Frame): void {
    const waitedMs = performance.now() - this.#tookMs;
    this.#behindMs = waitedMs > IDLE_MS ? 0 : Math.max(0, this.#behindMs - waitedMs);
    this.#tookMs += waitedMs;
    if (frame.event === 'log') {
      this.hasLines = true;
      if (this.#away.size > 0) this.#away.delete(instanceOf(frame));
    } else if (frame.event === 'problem') this.#missing(instanceOf(frame));
    else if (endsByStop(frame)) {
      this.stop = momentBefore(this.#behindMs);
      this.hasLasted = this.hasLines || this.#isOld();
    }
  }

  /** The message was used. */
  passed(): void {
    const heldMs = performance.now() - this.#tookMs;
    this.#behindMs += heldMs;
    this.#tookMs += heldMs;
  }

  /** Undefined: nothing says that what was asked for at first was there. */
  next(stop: Moment): Moment | undefined {
    const isRead = this.hasLines || this.#from !== undefined || (this.hasLasted && this.#away.size === 0);
    if (!isRead) return undefined;
    // One that stops before it told anything is asked about the same again.
    const usual = this.hasLasted ? stop : (this.#from ?? stop);
    const missing = [...this.#away.values()].filter((since) => msSince(since) < MOST_BACK_MS);
    return missing.reduce((first, since) => (msSince(since) > msSince(first) ? since : first), usual);
  }

  #isOld(): boolean {
    return msSince(this.#began) - this.#behindMs > LASTED_MS;
  }

  #missing(instance: string): void {
    if (this.#away.has(instance)) return;
    this.#away.set(instance, this.#isOld() ? momentBefore(this.#behindMs) : (this.#from ?? this.#began));
  }
}

function instanceOf({ data }: Frame): string {
  return String(parsedRecord(data)['instance']);
}

/**
 * Messages of a log that is followed, past control planes that stop. Where one says so, which is passed on once until there is something else to read,
 * the log is opened again with what was printed since, once one answers; without `since`, as at first, where nothing of it was read yet. A connection
 * that breaks ends it. `open` asks once (`attempts: 1`): a duration that is sent again is too short.
 */
export async function* followedPastStops(
  open: (since: string | undefined) => AsyncIterable<Frame>,
  { signal, isAway = isAwayNow }: FollowSettings = {},
): AsyncGenerator<Frame> {
  let from: Moment | undefined;
  let hasStopped = false;
  let failures = 0;
  for (;;) {
    let isOpen = false;
    const answer = new Answer(from);
    const since = from && `${Math.ceil(msSince(from) / 1000) + SPARE_SECONDS}s`;
    try {
      for await (const frame of open(since)) {
        isOpen = true;
        answer.take(frame);
        if (answer.hasLasted) failures = 0;
        if (answer.stop === undefined || failures === 0) yield frame;
        if (answer.stop !== undefined) break;
        answer.passed();
      }
      if (answer.stop === undefined) return;
      hasStopped = true;
      from = answer.next(answer.stop);
    } catch (error) {
      if (isOpen || !hasStopped || signal?.aborted === true || !isAway(error)) throw error;
    }
    failures += 1;
    await pause(pauseMs(failures, FIRST_PAUSE_MS), signal);
  }
}
