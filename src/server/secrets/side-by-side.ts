import { setTimeout as pause } from 'node:timers/promises';
import { failure, type SecretFailure, type SecretsStore } from './port.ts';

/** A spec names few documents; the store should not see a burst of a call for each of them. */
const AT_ONCE = 16;

export interface Asked<K> {
  readonly ok: false;
  /** Whose question failed; absent: the time for all of them was over. */
  readonly of?: K;
  readonly failed: SecretFailure;
}

/** All questions of one request at once and within one time; the first failure ends it, whatever is still under way. */
export async function sideBySide<K, Q, A extends { readonly ok: true }>(
  { patienceMs }: Pick<SecretsStore, 'patienceMs'>,
  questions: ReadonlyMap<K, Q>,
  ask: (question: Q) => Promise<A | SecretFailure>,
): Promise<{ readonly ok: true; readonly answers: ReadonlyMap<K, A> } | Asked<K>> {
  const answers = new Map<K, A>();
  if (questions.size === 0) return { ok: true, answers };
  const ended = Promise.withResolvers<Asked<K>>();
  let over = false;
  const end = (asked: Asked<K>): void => {
    over = true;
    ended.resolve(asked);
  };
  const queue = questions[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const [key, question] of queue) {
      if (over) return;
      const answer = await ask(question);
      if (!answer.ok) return end({ ok: false, of: key, failed: answer });
      answers.set(key, answer);
    }
  };
  const done = Promise.all(Array.from({ length: Math.min(AT_ONCE, questions.size) }, worker)).then(
    () => undefined,
  );
  const late = new AbortController();
  const expired = pause(patienceMs, undefined, { signal: late.signal, ref: false }).then(() =>
    end({
      ok: false,
      failed: failure('unavailable', `the secrets store did not answer everything within ${patienceMs} ms`),
    }),
  );
  expired.catch(() => undefined);
  try {
    const failed = await Promise.race([done, ended.promise]);
    return failed ?? { ok: true, answers };
  } finally {
    over = true;
    late.abort();
    // A fault of a question that is no longer awaited must not surface as an unhandled rejection.
    done.catch(() => undefined);
  }
}
