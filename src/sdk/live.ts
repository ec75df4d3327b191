import { type FetchAnswer, piecesOf } from './fetch.ts';
import { type Frame, FrameReader } from './frames.ts';
import type { Patience } from './patience.ts';
import { RejectionError, UnreachableError } from './rejection.ts';
import { isPermanent, pause, pauseMs } from './retry.ts';

export type LiveState = 'connecting' | 'live' | 'reconnecting';

export interface LiveSettings {
  readonly onState?: ((state: LiveState) => void) | undefined;
  /** Reopens a stream that ended, after its last message; default true. */
  readonly resume?: boolean | undefined;
  /** A control plane that does not let it be opened is asked again, for ever; false: that ends it, unless it was open before and waiting may help. True unless said. */
  readonly persistent?: boolean | undefined;
  /** Begin after this one. */
  readonly lastEventId?: string | undefined;
}

/** A control plane says something every 15 s; a connection that is silent for longer than this is dead without knowing it. */
export const STREAM_SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;

export interface Opened {
  readonly answer: FetchAnswer;
  readonly patience: Patience;
}

/** The pieces of an answer that goes on, each of them waited for only so long. */
export async function* streamedBytes({ answer, patience }: Opened): AsyncGenerator<Uint8Array> {
  try {
    patience.heard();
    for await (const piece of piecesOf(answer)) {
      patience.end();
      yield piece;
      patience.heard();
    }
  } finally {
    patience.end();
  }
}

async function* framesOf(opened: Opened): AsyncGenerator<Frame> {
  const reader = new FrameReader();
  const decoder = new TextDecoder();
  for await (const piece of streamedBytes(opened))
    yield* reader.push(decoder.decode(piece, { stream: true }));
}

/** What is refused stays refused; a control plane that is in trouble is waited for. */
function isFinal(error: unknown): boolean {
  return error instanceof RejectionError && error.status < 500 && error.status !== 429;
}

/** Messages until the caller leaves, the stream is refused, or it ends and is not to be taken up again. */
export async function* readFrames(
  open: (after: string | undefined, signal: AbortSignal | undefined) => Promise<Opened>,
  { onState, resume = true, persistent = true, lastEventId }: LiveSettings,
  signal: AbortSignal | undefined,
): AsyncGenerator<Frame> {
  let last = lastEventId;
  let failures = 0;
  let wasOpen = false;
  onState?.('connecting');
  for (;;) {
    try {
      const opened = await open(last, signal);
      wasOpen = true;
      last ??= opened.answer.headers.get('last-event-id') ?? undefined;
      onState?.('live');
      for await (const frame of framesOf(opened)) {
        failures = 0;
        last = frame.id ?? last;
        yield frame;
      }
      if (!resume) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (isFinal(error)) throw error;
      if (!resume || (!persistent && (!wasOpen || isPermanent(error))))
        throw error instanceof RejectionError || error instanceof UnreachableError
          ? error
          : new UnreachableError('The connection was lost.', { cause: error });
    }
    failures += 1;
    onState?.('reconnecting');
    await pause(pauseMs(failures, FIRST_PAUSE_MS), signal);
  }
}
