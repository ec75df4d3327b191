import { nextLink } from '../../core/contract/next-link.ts';
import { isRejectionBody, RejectionError, UnreachableError } from './rejection.ts';

export interface RequestOptions {
  readonly body?: unknown;
  /** Sent as `application/yaml` instead of a JSON body. */
  readonly yaml?: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface ApiSettings {
  /** The tenant acted for; sent as X-Tenant-ID with every request that names no other. */
  readonly tenant?: string;
  /** Of the session; sent with every write. */
  readonly csrfToken?: string;
  /** Told when the session is over, whatever was asked. */
  readonly onSignedOut?: () => void;
}

function target(path: string, query: RequestOptions['query'] = {}): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** The control plane over HTTP, as one caller for one tenant. A refusal is thrown as RejectionError. */
export class ApiClient {
  readonly #settings: ApiSettings;

  constructor(settings: ApiSettings = {}) {
    this.#settings = settings;
  }

  get tenant(): string | undefined {
    return this.#settings.tenant;
  }

  get<T>(path: string, options: RequestOptions = {}): Promise<T> {
    return this.call<T>('GET', path, options);
  }

  async call<T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(method, path, options);
    return (await response.json()) as T;
  }

  /** Every page of a list, one after the other. `onPage` sees what has come so far. */
  async list<T>(
    path: string,
    options: RequestOptions = {},
    onPage?: (rows: readonly T[]) => void,
  ): Promise<readonly T[]> {
    const rows: T[] = [];
    let next: string | undefined = target(path, { limit: 1000, ...options.query });
    const { query: _inTarget, ...rest } = options;
    while (next !== undefined) {
      const response: Response = await this.send('GET', next, rest);
      rows.push(...((await response.json()) as T[]));
      const link = nextLink(response.headers.get('link'));
      next = link === undefined ? undefined : new URL(link, location.href).href.slice(location.origin.length);
      if (next !== undefined) onPage?.([...rows]);
    }
    return rows;
  }

  async send(method: Method, path: string, options: RequestOptions = {}): Promise<Response> {
    const { tenant, csrfToken, onSignedOut } = this.#settings;
    const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
    if (tenant !== undefined) headers['x-tenant-id'] ??= tenant;
    if (method !== 'GET' && csrfToken !== undefined) headers['x-csrf-token'] = csrfToken;
    let body: string | undefined;
    if (options.yaml !== undefined) {
      headers['content-type'] = 'application/yaml';
      body = options.yaml;
    } else if (options.body !== undefined) {
      headers['content-type'] = 'application/json';
      body = JSON.stringify(options.body);
    }
    let response: Response;
    try {
      response = await fetch(target(path, options.query), {
        method,
        headers,
        credentials: 'same-origin',
        cache: 'no-store',
        ...(body === undefined ? {} : { body }),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
    } catch (cause) {
      if (options.signal?.aborted) throw cause;
      throw new UnreachableError('The control plane does not answer.', { cause });
    }
    if (response.ok) return response;
    const refused: unknown = await response.json().catch(() => undefined);
    if (!isRejectionBody(refused))
      throw new UnreachableError(`The answer (${response.status}) is not of the control plane.`);
    if (response.status === 401 && headers['authorization'] === undefined) onSignedOut?.();
    throw new RejectionError(response.status, refused);
  }
}
