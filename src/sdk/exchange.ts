import { parseJson } from '../core/model/values.ts';
import type { Fetch, FetchAnswer } from './fetch.ts';
import { bodyTextOf } from './fetch.ts';
import { Patience } from './patience.ts';
import { readRejection, RejectionError, UnreachableError } from './rejection.ts';
import { isPermanent, neverSent, pause, pauseAfter, pauseMs, retryAfterSeconds } from './retry.ts';

export interface Exchange {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sent twice it does no more than sent once. */
  readonly isRepeatable: boolean;
  readonly attempts: number;
  /** Silence after which it is given up. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Statuses of 400 and above that are an answer, unless their body is a rejection. */
  readonly answers?: readonly number[];
}

/** How much of what something else said is kept. */
const SAID_LENGTH = 200;

export function notOurs(status: number, text: string): UnreachableError {
  return new UnreachableError(`The answer (${status}) is not of a control plane.`, {
    status,
    said: text.slice(0, SAID_LENGTH).replaceAll(/\s+/g, ' '),
  });
}

/** Throws the refusal, unless the status is one that the caller takes as an answer. */
async function refusalOf(answer: FetchAnswer, answers: readonly number[]) {
  const text = await bodyTextOf(answer);
  const body = parseJson(text);
  const rejection = readRejection(body);
  if (rejection !== undefined)
    return { error: new RejectionError(answer.status, rejection, retryAfterSeconds(answer.headers)) };
  return body !== undefined && answers.includes(answer.status)
    ? { text }
    : { error: notOurs(answer.status, text) };
}

/**
 * Sends until there is an answer. Again after a refusal that asks for it, and after a lost connection where that does nothing twice;
 * `take` reads the answer, and a body that breaks off counts as a lost connection.
 */
export async function exchange<T>(
  fetch: Fetch,
  asked: Exchange,
  take: (answer: FetchAnswer, patience: Patience, text?: string) => Promise<T> | T,
): Promise<T> {
  const { url, method, headers, body, isRepeatable, signal, answers = [] } = asked;
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= asked.attempts;
    const patience = new Patience(asked.timeoutMs, signal);
    let waitMs: number | undefined;
    try {
      const init = { method, headers, signal: patience.signal, ...(body === undefined ? {} : { body }) };
      const answer = await fetch(url, init);
      patience.heard();
      if (answer.status < 400) return await take(answer, patience);
      const { error, text } = await refusalOf(answer, answers);
      if (error === undefined) return await take(answer, patience, text);
      const seconds = retryAfterSeconds(answer.headers);
      waitMs = isLast ? undefined : pauseAfter(answer.status, seconds, attempt, isRepeatable);
      if (waitMs === undefined) throw error;
    } catch (caught) {
      signal?.throwIfAborted();
      if (caught instanceof RejectionError || caught instanceof UnreachableError) throw caught;
      const cause: unknown = patience.signal.aborted ? patience.signal.reason : caught;
      const isSafe = !isPermanent(cause) && (isRepeatable || neverSent(cause));
      if (isLast || !isSafe) throw new UnreachableError('The control plane does not answer.', { cause });
      waitMs = pauseMs(attempt);
    } finally {
      patience.end();
    }
    await pause(waitMs, signal);
  }
}
