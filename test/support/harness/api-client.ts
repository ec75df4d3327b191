import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { assertDocumented } from '../answer-judge.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface CallOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, as `application/json` unless `contentType` says otherwise. */
  readonly raw?: string | Buffer;
  /** Sent as `application/yaml`. */
  readonly yaml?: string;
  /** `null`: no Authorization header. Absent: the client's own token. */
  readonly token?: string | null;
  /** `X-Tenant-ID`. */
  readonly tenant?: string;
  /** A list sends the header once per element. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** `null`: no Content-Type header. */
  readonly contentType?: string | null;
  /** False for calls that run beside others: what they leave behind cannot be told apart then. */
  readonly laws?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed body; empty when it is not a JSON object. */
  readonly body: Json;
  /** The parsed body when it is a JSON array. */
  readonly list: readonly Json[];
  readonly ms: number;
}

/** Looked at around each call; the laws of the conformance suites are one. */
export interface CallObserver {
  before(method: string, path: string, options: CallOptions): Promise<unknown>;
  after(method: string, path: string, options: CallOptions, answer: Answer, memory: unknown): Promise<void>;
}

const TIMEOUT_MS = 30_000;

function payload(options: CallOptions): { readonly bytes?: string | Buffer; readonly type?: string } {
  if (options.yaml !== undefined) return { bytes: options.yaml, type: 'application/yaml' };
  if (options.raw !== undefined) return { bytes: options.raw, type: 'application/json' };
  if (options.body !== undefined) return { bytes: JSON.stringify(options.body), type: 'application/json' };
  return {};
}

/** As it arrives; undefined where it is no JSON. */
function sentJson({ body, raw, yaml }: CallOptions): unknown {
  if (yaml !== undefined || (raw === undefined && body === undefined)) return undefined;
  try {
    return JSON.parse(raw === undefined ? JSON.stringify(body) : raw.toString());
  } catch {
    return undefined;
  }
}

function parse(text: string): Pick<Answer, 'body' | 'list'> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { body: {}, list: [] };
  }
  if (Array.isArray(value)) return { body: {}, list: value as Json[] };
  return { body: typeof value === 'object' && value !== null ? (value as Json) : {}, list: [] };
}

/** HTTP as a client sends it: nothing is added but what the options say. */
export class ApiClient {
  readonly baseUrl: string;
  readonly token: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #observers: CallObserver[] = [];

  constructor(baseUrl: string, token: string) {
    this.baseUrl = baseUrl;
    this.token = token;
  }

  observe(observer: CallObserver): void {
    this.#observers.push(observer);
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const memories = [];
    for (const observer of this.#observers) memories.push(await observer.before(method, path, options));
    const answer = await this.send(method, path, options);
    assertDocumented(method, path, {
      status: answer.status,
      contentType: answer.headers['content-type'],
      text: answer.text,
      sent: () => sentJson(options),
    });
    for (const [index, observer] of this.#observers.entries())
      await observer.after(method, path, options, answer, memories[index]);
    return answer;
  }

  get(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.call('GET', path, options);
  }

  post(path: string, body: unknown, options: CallOptions = {}): Promise<Answer> {
    return this.call('POST', path, { ...options, body });
  }

  put(path: string, body: unknown, options: CallOptions = {}): Promise<Answer> {
    return this.call('PUT', path, { ...options, body });
  }

  delete(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.call('DELETE', path, options);
  }

  /** Without observers. */
  send(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { bytes, type } = payload(options);
    const headers: Record<string, string | string[]> = {};
    const token = options.token === undefined ? this.token : options.token;
    if (token !== null) headers['authorization'] = `Bearer ${token}`;
    if (options.tenant !== undefined) headers['x-tenant-id'] = options.tenant;
    const contentType = options.contentType === undefined ? type : options.contentType;
    if (contentType !== undefined && contentType !== null) headers['content-type'] = contentType;
    if (bytes !== undefined) headers['content-length'] = String(Buffer.byteLength(bytes));
    for (const [name, value] of Object.entries(options.headers ?? {}))
      headers[name] = typeof value === 'string' ? value : [...value];
    const start = performance.now();
    const { hostname, port } = new URL(this.baseUrl);
    return new Promise<Answer>((resolve, reject) => {
      const sent = request(
        { hostname, port, method, path, headers, agent: this.#agent, setHost: !('host' in headers) },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8');
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text,
              ...parse(text),
              ms: performance.now() - start,
            });
          });
        },
      );
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`no answer to ${method} ${path} in time`)));
      sent.on('error', reject);
      sent.end(bytes);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
