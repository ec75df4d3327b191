import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** One document of a KV v2 mount. `versions` holds what is kept; a deleted version keeps its metadata. */
interface KvDocument {
  readonly createdTime: string;
  current: number;
  readonly versions: Map<
    number,
    { data: Record<string, unknown>; createdTime: string; deletionTime: string; destroyed: boolean }
  >;
}

interface IssuedToken {
  ttlMs: number;
  renewable: boolean;
  expiresAt: number;
  renewals: number;
}

export interface AppRole {
  readonly roleId: string;
  readonly secretId: string;
  ttlSeconds: number;
}

/** Switches of the endpoint; each holds until it is set back. */
export interface VaultSwitches {
  sealed: boolean;
  initialized: boolean;
  /** Paths (below /v1/) answered with 403. */
  denied: RegExp | undefined;
  rateLimited: boolean;
  /** Every answer comes this late. */
  slowMs: number;
  /** Status for everything but the health check, for example 500. */
  broken: number | undefined;
  /** Servers before subkeys answer 404 with `unsupported path`. */
  withoutSubkeys: boolean;
  /** Number of writes to a fresh mount that are answered with the upgrade message. */
  upgradeAnswers: number;
  /** Answers this many requests with 500 and then goes on. */
  failNext: number;
}

export interface VaultEndpoint {
  readonly address: string;
  readonly rootToken: string;
  readonly appRole: AppRole;
  readonly switches: VaultSwitches;
  /** `METHOD path` of every request, in order, with the query. */
  readonly requests: readonly string[];
  readonly tokens: ReadonlyMap<string, IssuedToken>;
  issueToken(ttlSeconds: number, renewable?: boolean): string;
  revoke(token: string): void;
  /** Writes past the API, as another client of the store would. */
  put(mount: string, path: string, data: Record<string, unknown>): void;
  /** `kv delete`: the newest version is marked deleted. */
  softDelete(mount: string, path: string): void;
  close(): Promise<void>;
}

const KEEP_VERSIONS = 10;
const MAX_BODY_BYTES = 2 * 1024 * 1024;

interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

const errors = (status: number, ...messages: string[]): Reply => ({ status, body: { errors: messages } });
const data = (content: unknown): Reply => ({
  status: 200,
  body: { data: content, auth: null, warnings: null },
});
const DENIED = errors(403, 'permission denied');

/**
 * A KV v2 endpoint that answers as Vault and OpenBao do, status by status and word by word where a client has nothing else
 * to go by, for runs without a real one. In memory, on a free loopback port.
 */
export async function startVaultEndpoint(tls?: {
  readonly key: string;
  readonly cert: string;
}): Promise<VaultEndpoint> {
  const mounts = new Map<string, Map<string, KvDocument>>();
  const tokens = new Map<string, IssuedToken>();
  const requests: string[] = [];
  const rootToken = `hvs.${randomUUID()}`;
  const appRole: AppRole = { roleId: randomUUID(), secretId: randomUUID(), ttlSeconds: 3600 };
  const switches: VaultSwitches = {
    sealed: false,
    initialized: true,
    denied: undefined,
    rateLimited: false,
    slowMs: 0,
    broken: undefined,
    withoutSubkeys: false,
    upgradeAnswers: 0,
    failNext: 0,
  };

  function issueToken(ttlSeconds: number, renewable = true): string {
    const token = `hvs.${randomUUID()}`;
    const ttlMs = ttlSeconds * 1000;
    tokens.set(token, { ttlMs, renewable, expiresAt: performance.now() + ttlMs, renewals: 0 });
    return token;
  }

  function isGood(token: string | undefined): token is string {
    if (token === rootToken) return true;
    const issued = token === undefined ? undefined : tokens.get(token);
    return issued !== undefined && performance.now() < issued.expiresAt;
  }

  function put(
    mount: string,
    path: string,
    content: Record<string, unknown>,
  ): { version: number; createdTime: string } {
    const documents = mounts.get(mount) ?? new Map<string, KvDocument>();
    mounts.set(mount, documents);
    const createdTime = new Date().toISOString();
    const document = documents.get(path) ?? { createdTime, current: 0, versions: new Map() };
    documents.set(path, document);
    document.current += 1;
    document.versions.set(document.current, {
      data: content,
      createdTime,
      deletionTime: '',
      destroyed: false,
    });
    document.versions.delete(document.current - KEEP_VERSIONS);
    return { version: document.current, createdTime };
  }

  function login(body: unknown): Reply {
    const { role_id, secret_id } = body as { role_id?: unknown; secret_id?: unknown };
    if (role_id !== appRole.roleId || secret_id !== appRole.secretId)
      return errors(400, 'invalid role or secret ID');
    const token = issueToken(appRole.ttlSeconds);
    return {
      status: 200,
      body: { auth: { client_token: token, lease_duration: appRole.ttlSeconds, renewable: true } },
    };
  }

  function lookUp(token: string): Reply {
    const issued = tokens.get(token);
    if (issued === undefined) return data({ ttl: 0, renewable: false });
    return data({
      ttl: Math.ceil((issued.expiresAt - performance.now()) / 1000),
      renewable: issued.renewable,
    });
  }

  function renew(token: string): Reply {
    const issued = tokens.get(token);
    if (issued === undefined || !issued.renewable) return errors(400, 'lease is not renewable');
    issued.expiresAt = performance.now() + issued.ttlMs;
    issued.renewals += 1;
    const auth = { client_token: token, lease_duration: issued.ttlMs / 1000, renewable: true };
    return { status: 200, body: { auth } };
  }

  function mountRoute(method: string, mount: string, body: unknown): Reply {
    if (method === 'DELETE') {
      mounts.delete(mount);
      return { status: 204 };
    }
    if (mounts.has(mount)) return errors(400, `path is already in use at ${mount}/`);
    const { type, options } = body as { type?: string; options?: { version?: string } };
    if (type !== 'kv' || options?.version !== '2')
      return errors(400, 'this endpoint mounts kv version 2 only');
    mounts.set(mount, new Map());
    return { status: 204 };
  }

  function health(): Reply {
    const status = !switches.initialized ? 501 : switches.sealed ? 503 : 200;
    return { status, body: { initialized: switches.initialized, sealed: switches.sealed, standby: false } };
  }

  function route(method: string, url: URL, token: string | undefined, body: unknown): Reply {
    const path = decodeURIComponent(url.pathname.replace(/^\/v1\//, ''));
    if (path === 'sys/health') return health();
    if (switches.sealed) return errors(503, 'Vault is sealed');
    if (switches.broken !== undefined) return errors(switches.broken, 'internal error');
    if (switches.failNext > 0) {
      switches.failNext -= 1;
      return errors(500, 'internal error');
    }
    if (switches.rateLimited) return errors(429, 'request path "x": rate limit quota exceeded');
    if (path === 'auth/approle/login') return login(body);
    if (!isGood(token)) return errors(403, 'permission denied', 'invalid token');
    if (path === 'auth/token/lookup-self') return lookUp(token);
    if (path === 'auth/token/renew-self') return renew(token);
    if (switches.denied?.test(path)) return DENIED;
    const mountPath = /^sys\/mounts\/([^/]+)$/.exec(path)?.[1];
    if (mountPath !== undefined) return mountRoute(method, mountPath, body);
    const [mount = '', api = '', ...rest] = path.split('/');
    const documents = mounts.get(mount);
    if (documents === undefined) {
      return errors(404, `no handler for route "${path}". route entry not found.`);
    }
    return kvRoute(documents, mount, method, api, rest.join('/'), url.searchParams, body);
  }

  function kvRoute(
    documents: Map<string, KvDocument>,
    mount: string,
    method: string,
    api: string,
    path: string,
    query: URLSearchParams,
    body: unknown,
  ): Reply {
    if (api === 'data' && method === 'POST') return writeData(documents.get(path), mount, path, body);
    if (api === 'data' && method === 'GET') return readData(documents.get(path), query, 'data');
    if (api === 'subkeys' && method === 'GET') {
      return switches.withoutSubkeys
        ? errors(404, '1 error occurred:\n\t* unsupported path\n\n')
        : readData(documents.get(path), query, 'subkeys');
    }
    if (api === 'metadata' && query.get('list') === 'true') return listKeys(documents, path);
    if (api === 'metadata' && method === 'GET') return readMetadata(documents.get(path));
    if (api === 'metadata' && method === 'DELETE') {
      documents.delete(path);
      return { status: 204 };
    }
    return errors(405, 'unsupported operation');
  }

  function writeData(document: KvDocument | undefined, mount: string, path: string, body: unknown): Reply {
    if (switches.upgradeAnswers > 0) {
      switches.upgradeAnswers -= 1;
      return errors(
        400,
        'Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period and will resume service shortly.',
      );
    }
    const { data: content, options } = body as { data?: Record<string, unknown>; options?: { cas?: number } };
    if (content === undefined) return errors(400, 'no data provided');
    if (options?.cas !== undefined && options.cas !== (document?.current ?? 0)) {
      return errors(400, 'check-and-set parameter did not match the current version');
    }
    const { version, createdTime } = put(mount, path, content);
    return data({
      version,
      created_time: createdTime,
      deletion_time: '',
      destroyed: false,
      custom_metadata: null,
    });
  }

  function readData(
    document: KvDocument | undefined,
    query: URLSearchParams,
    field: 'data' | 'subkeys',
  ): Reply {
    const number = Number(query.get('version') ?? 0) || (document?.current ?? 0);
    const version = document?.versions.get(number);
    if (version === undefined) return errors(404);
    const metadata = {
      version: number,
      created_time: version.createdTime,
      deletion_time: version.deletionTime,
      destroyed: version.destroyed,
      custom_metadata: null,
    };
    if (version.deletionTime !== '' || version.destroyed) {
      return { status: 404, body: { data: { [field]: null, metadata } } };
    }
    const names = Object.fromEntries(Object.keys(version.data).map((key) => [key, null]));
    return data({ [field]: field === 'data' ? version.data : names, metadata });
  }

  function readMetadata(document: KvDocument | undefined): Reply {
    if (document === undefined) return errors(404);
    const versions = Object.fromEntries(
      [...document.versions].map(([number, { createdTime, deletionTime, destroyed }]) => [
        number,
        { created_time: createdTime, deletion_time: deletionTime, destroyed },
      ]),
    );
    return data({
      cas_required: false,
      created_time: document.createdTime,
      current_version: document.current,
      max_versions: 0,
      oldest_version: Math.min(...document.versions.keys()),
      versions,
    });
  }

  function listKeys(documents: Map<string, KvDocument>, folder: string): Reply {
    const prefix = folder.endsWith('/') ? folder : `${folder}/`;
    const below = [...documents.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
    const keys = new Set(below.map((key) => (key.includes('/') ? `${key.split('/')[0]}/` : key)));
    return keys.size === 0 ? errors(404) : data({ keys: [...keys].sort() });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET';
    requests.push(`${method} ${request.url}`);
    const body = await readBody(request);
    const token = request.headers['x-vault-token'];
    const url = new URL(request.url ?? '/', 'http://localhost');
    const reply = route(method, url, typeof token === 'string' ? token : undefined, body);
    const send = (): void => {
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
    };
    if (switches.slowMs > 0) setTimeout(send, switches.slowMs).unref();
    else send();
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch(() => response.destroy());
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    address: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    rootToken,
    appRole,
    switches,
    requests,
    tokens,
    issueToken,
    revoke: (token) => void tokens.delete(token),
    put: (mount, path, content) => void put(mount, path, content),
    softDelete: (mount, path) => {
      const document = mounts.get(mount)?.get(path);
      const newest = document?.versions.get(document.current);
      if (newest !== undefined) newest.deletionTime = new Date().toISOString();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('body too large');
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks).toString('utf8');
  return body === '' ? undefined : (JSON.parse(body) as unknown);
}
