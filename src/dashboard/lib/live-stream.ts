import type { ApiClient } from './api-client.ts';
import { type EventFrame, FrameReader } from './event-frames.ts';
import { RejectionError } from './rejection.ts';

export type LiveState = 'connecting' | 'live' | 'reconnecting';

export interface LiveStreamOptions {
  readonly path: string;
  readonly onFrame: (frame: EventFrame) => void;
  readonly onState: (state: LiveState) => void;
  /** A stream that ended by itself is opened again, after its last event. */
  readonly reconnect: boolean;
  /** The server refused: there is nothing to wait for. */
  readonly onRefused?: (error: RejectionError) => void;
}

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
/** The server says something every 15 s; a connection that is silent for longer than this is dead without knowing it. */
const SILENCE_MS = 40_000;

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/**
 * Server-sent events with fetch: EventSource cannot name a tenant in a header. Resumes with Last-Event-ID, so that nothing is
 * missed while the connection was away.
 */
export async function readLive(
  api: ApiClient,
  options: LiveStreamOptions,
  signal: AbortSignal,
): Promise<void> {
  let lastId: string | undefined;
  let waitMs = FIRST_WAIT_MS;
  options.onState('connecting');
  while (!signal.aborted) {
    const attempt = new AbortController();
    const giveUp = () => attempt.abort();
    let silence = setTimeout(giveUp, SILENCE_MS);
    try {
      const response = await api.send('GET', options.path, {
        signal: AbortSignal.any([signal, attempt.signal]),
        headers: {
          accept: 'text/event-stream',
          ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
        },
      });
      options.onState('live');
      waitMs = FIRST_WAIT_MS;
      const reader = new FrameReader();
      const text = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const piece = await text?.read();
        if (piece === undefined || piece.done) break;
        clearTimeout(silence);
        silence = setTimeout(giveUp, SILENCE_MS);
        for (const frame of reader.push(piece.value)) {
          lastId = frame.id ?? lastId;
          options.onFrame(frame);
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof RejectionError && error.status < 500) {
        options.onRefused?.(error);
        return;
      }
    } finally {
      clearTimeout(silence);
    }
    if (!options.reconnect || signal.aborted) return;
    options.onState('reconnecting');
    await wait(waitMs * (0.75 + Math.random() / 2), signal);
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
  }
}
