import { endsByStop } from '../core/contract/log-end.ts';
import type { Frame } from './frames.ts';
import { RejectionError, UnreachableError } from './rejection.ts';
import { pause, pauseMs } from './retry.ts';

const FIRST_PAUSE_MS = 500;

export interface FollowSettings {
  readonly signal?: AbortSignal | undefined;
  /** Nobody is there, or not yet: asked again. */
  readonly isAway?: ((error: unknown) => boolean) | undefined;
}

function isAwayNow(error: unknown): boolean {
  if (error instanceof RejectionError) return error.status >= 500 || error.status === 429;
  return error instanceof UnreachableError && error.status === undefined;
}

/** For the question to get there, and for what was on its way at the stop: a few lines may come twice. */
const SPARE_SECONDS = 2;

function durationSince(ms: number): string {
  return `${Math.ceil(Math.max(0, Date.now() - ms) / 1000) + SPARE_SECONDS}s`;
}

/**
 * Messages of a log that is followed, past control planes that stop. Where one says so, which is passed on, the log is opened again with what was
 * printed since, once one answers; a connection that breaks ends it. `open` asks once (`attempts: 1`): a duration that is sent again is too short.
 */
export async function* followedPastStops(
  open: (since: string | undefined) => AsyncIterable<Frame>,
  { signal, isAway = isAwayNow }: FollowSettings = {},
): AsyncGenerator<Frame> {
  let stoppedMs: number | undefined;
  let failures = 0;
  for (;;) {
    let isOpen = false;
    let hasLines = false;
    let isStop = false;
    try {
      for await (const frame of open(stoppedMs === undefined ? undefined : durationSince(stoppedMs))) {
        isOpen = true;
        yield frame;
        hasLines ||= frame.event === 'log';
        isStop = endsByStop(frame);
        if (isStop) break;
      }
      if (!isStop) return;
      // One that stops before it told anything is asked about the same again.
      if (hasLines || stoppedMs === undefined) stoppedMs = Date.now();
      failures = 0;
    } catch (error) {
      if (isOpen || stoppedMs === undefined || signal?.aborted === true || !isAway(error)) throw error;
    }
    failures += 1;
    await pause(pauseMs(failures, FIRST_PAUSE_MS), signal);
  }
}
