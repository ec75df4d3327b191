import type { SeenAnswer } from '../answer-judge.ts';

export interface Answer {
  readonly status: number;
  // A test reads what it expects; a wrong shape fails there.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
  readonly headers: Headers;
}

export interface Caller {
  (method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
}

export const BOOTSTRAP = 'bootstrap-token-of-the-tests-0123456789';

const CALL_MS = 60_000;

/** Calls of one token. `judge` throws for an answer that must not be. */
export function callerTo(
  url: () => string,
  token: string,
  judge?: (method: string, path: string, answer: SeenAnswer) => void,
): Caller {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url()}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CALL_MS),
    });
    const text = await response.text();
    const contentType = response.headers.get('content-type') ?? undefined;
    judge?.(method, path, { status: response.status, contentType, text, sent: () => body });
    const json = contentType?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      body: json ? (JSON.parse(text) as unknown) : text,
      headers: response.headers,
    };
  };
}
