import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { nextLink } from '../core/contract/next-link.ts';
import type { Target } from './context.ts';
import { EXIT } from './exit-code.ts';
import { Failure, Refused } from './failure.ts';
import { type RejectionView, readRejection } from './rejection-view.ts';
import { isPermanent, neverSent, readBody, send, unreachable, type WireRequest } from './transport.ts';

const TIMEOUT_MS = 30_000;
/** A live stream says something at least every 15 s. */
const STREAM_IDLE_MS = 60_000;
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly ifMatch?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export type Json = Readonly<Record<string, unknown>>;

/** A rejection is a value: the caller decides whether it ends the command. */
export type Answer =
  | {
      readonly ok: true;
      readonly status: number;
      readonly body: unknown;
      readonly headers: IncomingHttpHeaders;
    }
  | { readonly ok: false; readonly status: number; readonly rejection: RejectionView };

export class Client {
  readonly target: Target;
  readonly #signal: AbortSignal | undefined;

  constructor(target: Target, signal?: AbortSignal) {
    this.target = target;
    this.#signal = signal;
  }

  /** The same control plane and token, with the tenant named in every request. */
  forTenant(tenant: string): Client {
    return new Client({ ...this.target, tenant }, this.#signal);
  }

  async call(call: Call): Promise<Answer> {
    const answer = await this.#sendWithRetries(this.#wireRequest(call));
    return this.#read(answer);
  }

  /** What was asked for, or the command ends with the refusal. */
  async need(
    call: Call,
  ): Promise<{ readonly status: number; readonly body: unknown; readonly headers: IncomingHttpHeaders }> {
    const answer = await this.call(call);
    if (!answer.ok) throw new Refused(answer.rejection, answer.status);
    return answer;
  }

  async record(call: Call): Promise<Json> {
    return (await this.need(call)).body as Json;
  }

  /** Undefined when the answer is one of these codes; any other refusal ends the command. */
  async recordUnless(codes: readonly string[], call: Call): Promise<Json | undefined> {
    const answer = await this.call(call);
    if (answer.ok) return answer.body as Json;
    if (codes.includes(answer.rejection.code)) return undefined;
    throw new Refused(answer.rejection, answer.status);
  }

  /** Every page. */
  async list(
    path: string,
    query: Readonly<Record<string, string | undefined>> = {},
  ): Promise<readonly Json[]> {
    const found: Json[] = [];
    let next: string | undefined = `${path}${queryText(query)}`;
    while (next !== undefined) {
      const { body, headers } = await this.need({ path: next });
      found.push(...(body as readonly Json[]));
      next = nextLink(headers.link);
    }
    return found;
  }

  /** The body as it comes; the caller reads it to its end or destroys it. */
  async stream(call: Call): Promise<IncomingMessage> {
    const answer = await this.#sendWithRetries({ ...this.#wireRequest(call), idleMs: STREAM_IDLE_MS });
    if ((answer.statusCode ?? 0) < 400) return answer;
    const refused = await this.#read(answer);
    if (!refused.ok) throw new Refused(refused.rejection, refused.status);
    throw new Failure(`the control plane answered ${refused.status} to a stream`);
  }

  /** Date header of the control plane, and how long the answer took, for the comparison of clocks. */
  async head(path: string): Promise<{ readonly date: Date | undefined; readonly roundTripMs: number }> {
    const began = performance.now();
    const answer = await this.#sendWithRetries(this.#wireRequest({ path }));
    await readBody(answer);
    const { date } = answer.headers;
    return { date: date === undefined ? undefined : new Date(date), roundTripMs: performance.now() - began };
  }

  #wireRequest({
    method = 'GET',
    path,
    query = {},
    body,
    ifMatch,
    headers = {},
    timeoutMs = TIMEOUT_MS,
  }: Call): WireRequest {
    const { token, tenant } = this.target;
    return {
      method,
      path: `${path}${queryText(query)}`,
      headers: {
        accept: 'application/json',
        'user-agent': 'berth-cli',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` }),
        // A create that is sent twice because its answer was lost is answered from the first one.
        ...(method === 'POST' ? { 'idempotency-key': crypto.randomUUID() } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      idleMs: timeoutMs,
      signal: this.#signal,
    };
  }

  /** Reads are tried again; a write only when it cannot have arrived, or the control plane said that it did nothing. */
  async #sendWithRetries(request: WireRequest): Promise<IncomingMessage> {
    for (let attempt = 1; ; attempt += 1) {
      const last = attempt === ATTEMPTS;
      try {
        const answer = await send(this.target, request);
        const wait = last ? undefined : retryAfterMs(answer, attempt);
        if (wait === undefined) return answer;
        answer.resume();
        await pause(wait, undefined, this.#signal === undefined ? {} : { signal: this.#signal });
      } catch (error) {
        if (this.#signal?.aborted === true) throw error;
        const safe = !isPermanent(error) && (request.method === 'GET' || neverSent(error));
        // Nothing listens there: waiting for a restart is worth a moment, not a minute.
        if (last || !safe) throw unreachable(this.target, error);
        await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1));
      }
    }
  }

  async #read(answer: IncomingMessage): Promise<Answer> {
    const status = answer.statusCode ?? 0;
    const text = await readBody(answer).catch((error: unknown) => {
      throw unreachable(this.target, error);
    });
    const body = parseJson(text);
    if (status < 400 && body !== undefined) return { ok: true, status, body, headers: answer.headers };
    const rejection = readRejection(body);
    if (rejection !== undefined) return { ok: false, status, rejection };
    const health = status === 503 && typeof body === 'object' && body !== null && 'store' in body;
    if (health) return { ok: true, status, body, headers: answer.headers };
    throw new Failure(`${this.target.server} answered ${status}, but not in the words of a control plane`, {
      exitCode: EXIT.unreachable,
      advice: [
        'Is this the address of a control plane? Something else, such as a proxy, may answer there.',
        `It said: ${text.slice(0, 200).replaceAll(/\s+/g, ' ')}`,
      ],
    });
  }
}

/** 429 means that nothing was done; anything else is the caller's to judge. */
function retryAfterMs(answer: IncomingMessage, attempt: number): number | undefined {
  if (answer.statusCode !== 429) return undefined;
  const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds <= 10 ? seconds * 1000 : FIRST_PAUSE_MS * 2 ** attempt;
}

export function queryText(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as [string, string]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** A segment of a path, so that a name with odd characters stays one segment and is refused by the control plane. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}

export function deploymentPath(name: string): string {
  return `/api/v1/deployments/${segment(name)}`;
}
