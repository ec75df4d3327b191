import { parseJson } from '../core/model/values.ts';
import { nextLink } from '../core/contract/next-link.ts';
import type { event } from '../core/contract/answers/history.ts';
import type { Answer } from '../core/schema/shape.ts';
import { type Exchange, exchange, notOurs } from './exchange.ts';
import { type Fetch, bodyTextOf } from './fetch.ts';
import type { Frame } from './frames.ts';
import { streamedBytes, type LiveSettings, type Opened, readFrames, STREAM_SILENCE_MS } from './live.ts';
import {
  type AnswerTo,
  type CallOptions,
  type Given,
  type ItemOf,
  type ListName,
  NOT_REPEATABLE,
  type OperationName,
  type RejectionCode,
  type StreamName,
  type TriedName,
} from './operations.ts';
import { readRejection, RejectionError, type RejectionRecord } from './rejection.ts';
import { newKey, pathOf, queryText } from './request.ts';
import { DEFAULT_ATTEMPTS } from './retry.ts';

const TIMEOUT_MS = 30_000;

export interface ClientSettings {
  /** Of the control plane; empty in a page that it serves itself. */
  readonly url: string;
  /** Sent as bearer; a function is asked before every request. Absent: the cookie of a session, in a page. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** The tenant acted for: its slug or id. Absent: the token's own. */
  readonly tenant?: string | undefined;
  /** Another way to the control plane than the platform's `fetch`: a proxy, an authority, a socket. */
  readonly fetch?: Fetch | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Entries per page of lists that do not say; absent: as many as the control plane likes. */
  readonly pageSize?: number | undefined;
  /** Silence after which a call is given up; 30 s. */
  readonly timeoutMs?: number | undefined;
  /** How often a request is sent at most; 4. */
  readonly attempts?: number | undefined;
  /** Ends everything. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer with what came around it. */
export interface Reply<T> {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  /** For `ifMatch` of the next write. */
  readonly etag: string | undefined;
  readonly body: T;
}

/** What any call can say; `CallOptions` is what an operation lets it say. */
interface Asked {
  readonly params?: Readonly<Record<string, string>> | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly yaml?: string | undefined;
  readonly ifMatch?: number | string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  readonly attempts?: number | undefined;
  readonly tenant?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly answers?: readonly number[] | undefined;
}

/** A control plane over HTTP, as one caller for one tenant. A refusal is thrown as RejectionError, silence as UnreachableError. */
export class Client {
  readonly settings: ClientSettings;
  readonly #fetch: Fetch;

  constructor(settings: ClientSettings) {
    this.settings = settings;
    this.#fetch = settings.fetch ?? ((url, init) => fetch(url, init));
  }

  /** The same, with something else said: another tenant, another signal. */
  with(settings: Partial<ClientSettings>): Client {
    return new Client({ ...this.settings, ...settings });
  }

  /** What the operation answers. */
  async call<N extends OperationName>(
    operation: N,
    ...[options]: Given<CallOptions<N>>
  ): Promise<AnswerTo<N>> {
    return (await this.request<AnswerTo<N>>(operation, options)).body;
  }

  /** The same with status, ETag and headers. */
  reply<N extends OperationName>(
    operation: N,
    ...[options]: Given<CallOptions<N>>
  ): Promise<Reply<AnswerTo<N>>> {
    return this.request<AnswerTo<N>>(operation, options);
  }

  /** Undefined when it is refused with one of these codes. */
  async callUnless<N extends OperationName>(
    codes: readonly RejectionCode[],
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<AnswerTo<N> | undefined> {
    try {
      return await this.call(operation, ...given);
    } catch (error) {
      if (error instanceof RejectionError && codes.includes(error.code)) return undefined;
      throw error;
    }
  }

  /** All that would be refused in a document; none: it would be taken. Nothing is stored. */
  async rejections<N extends TriedName>(
    operation: N,
    options: CallOptions<N>,
  ): Promise<readonly RejectionRecord[]> {
    const asked: Asked = options;
    const query = { ...asked.query, dryRun: true, all: true };
    const tried = this.request<{ readonly rejections?: readonly unknown[] }>(operation, { ...asked, query });
    const { body } = await tried;
    return (body.rejections ?? []).flatMap((one) => readRejection(one) ?? []);
  }

  /** A list page by page, as long as there is a next one. */
  async *pages<N extends ListName>(
    operation: N,
    ...[options]: Given<CallOptions<N>>
  ): AsyncGenerator<readonly ItemOf<N>[]> {
    const { params, query, ...rest }: Asked = options ?? {};
    let next: string | undefined =
      `${pathOf(pathIn(operation), params)}${queryText({ limit: this.settings.pageSize, ...query })}`;
    while (next !== undefined) {
      const { body, headers }: Reply<readonly ItemOf<N>[]> = await this.request(`GET ${next}`, rest);
      yield body;
      next = nextLink(headers.get('link'));
    }
  }

  /** A list, whole. */
  async list<N extends ListName>(
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<readonly ItemOf<N>[]> {
    const found: ItemOf<N>[] = [];
    for await (const page of this.pages(operation, ...given)) found.push(...page);
    return found;
  }

  /** Events as they happen, for ever: a stream that breaks is taken up again after the last one. */
  async *events(
    options: Omit<CallOptions<'GET /api/v1/events'>, 'body'> & LiveSettings = {},
  ): AsyncGenerator<Answer<typeof event>> {
    for await (const { data } of this.frames('GET /api/v1/events', options))
      yield JSON.parse(data) as Answer<typeof event>;
  }

  /** Messages of a stream. With `resume: false` it ends when the connection does, for streams that would start over. */
  frames<N extends StreamName>(operation: N, options: CallOptions<N> & LiveSettings): AsyncGenerator<Frame> {
    const { onState, resume, persistent, lastEventId, ...asked }: Asked & LiveSettings = options;
    const signal = this.#signalOf(asked);
    return readFrames(
      async (after, stop) => {
        const headers = {
          accept: 'text/event-stream',
          ...(after === undefined ? {} : { 'last-event-id': after }),
        };
        return this.#open(operation, { ...asked, headers, signal: stop, timeoutMs: STREAM_SILENCE_MS });
      },
      { onState, resume, persistent, lastEventId },
      signal,
    );
  }

  /** Any request, without the table: what answers is not known, and neither is whether there is such an operation. */
  async request<T = unknown>(operation: string, asked: Asked = {}): Promise<Reply<T>> {
    return exchange(
      this.#fetch,
      await this.#exchangeOf(operation, asked),
      async (answer, _patience, read) => {
        const text = read ?? (await bodyTextOf(answer));
        const body = parseJson(text);
        if (body === undefined && text !== '') throw notOurs(answer.status, text);
        const { status, headers } = answer;
        return { status, headers, etag: headers.get('etag') ?? undefined, body: body as T };
      },
    );
  }

  /** The answer as it comes: text, a file. */
  async *pieces<N extends StreamName>(
    operation: N,
    ...[options]: Given<CallOptions<N>>
  ): AsyncGenerator<Uint8Array> {
    yield* streamedBytes(await this.#open(operation, { ...options, headers: { accept: '*/*' } }));
  }

  async #open(operation: string, asked: Asked): Promise<Opened> {
    const made = await this.#exchangeOf(operation, { timeoutMs: STREAM_SILENCE_MS, ...asked });
    return exchange(this.#fetch, made, (answer, patience) => ({ answer, patience }));
  }

  #signalOf({ signal }: Asked): AbortSignal | undefined {
    const { signal: whole } = this.settings;
    if (signal === undefined || whole === undefined) return signal ?? whole;
    return AbortSignal.any([signal, whole]);
  }

  async #exchangeOf(operation: string, asked: Asked): Promise<Exchange> {
    const { url, token, headers, attempts = DEFAULT_ATTEMPTS, timeoutMs = TIMEOUT_MS } = this.settings;
    const { params, query, body, yaml, ifMatch, tenant = this.settings.tenant } = asked;
    const method = operation.slice(0, operation.indexOf(' '));
    const path = pathIn(operation);
    const bearer = typeof token === 'function' ? await token() : token;
    const text = yaml ?? (body === undefined ? undefined : JSON.stringify(body));
    const type = yaml === undefined ? 'application/json' : 'application/yaml';
    return {
      url: `${url}${params === undefined ? path : pathOf(path, params)}${queryText(query)}`,
      method,
      headers: {
        accept: 'application/json',
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
        ...(text === undefined ? {} : { 'content-type': type }),
        ...(ifMatch === undefined
          ? {}
          : { 'if-match': typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch }),
        // A post that is sent twice because its answer was lost is answered from the first one.
        ...(method === 'POST' ? { 'idempotency-key': asked.idempotencyKey ?? newKey() } : {}),
        ...headers,
        ...asked.headers,
      },
      ...(text === undefined ? {} : { body: text }),
      isRepeatable: method === 'GET' || (method === 'POST' && !NOT_REPEATABLE.has(operation)),
      attempts: asked.attempts ?? attempts,
      timeoutMs: asked.timeoutMs ?? timeoutMs,
      signal: this.#signalOf(asked),
      answers: asked.answers ?? [],
    };
  }
}

function pathIn(operation: string): string {
  return operation.slice(operation.indexOf(' ') + 1);
}

/** The typed client of a control plane. */
export function connect(settings: ClientSettings): Client {
  return new Client(settings);
}
