import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Kv1Mount, Kv2Mount, type Mount } from './kv-mount.ts';
import { data, errors, type Reply } from './reply.ts';
import { type AppRole, type IssuedToken, Tokens } from './tokens.ts';

/** Switches of the endpoint; each holds until it is set back. */
export interface VaultSwitches {
  sealed: boolean;
  initialized: boolean;
  /** Paths (below /v1/) answered with 403. */
  denied: RegExp | undefined;
  rateLimited: boolean;
  /** Every answer comes this late. */
  slowMs: number;
  /** Calls (`METHOD path` below /v1/) that are carried out and never answered. */
  lost: RegExp | undefined;
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
  hasMount(mount: string): boolean;
  /** Versions that are kept, oldest first, with what they hold. */
  contents(mount: string, path: string): readonly (readonly [number, Record<string, unknown>])[];
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;
const DENIED = errors(403, 'permission denied');

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly namespace: string;
  readonly token: string | undefined;
  readonly body: unknown;
}

/**
 * A KV v2 endpoint that answers as Vault and OpenBao do, for runs without a real one. In memory, on a free loopback port. What it does
 * was compared with OpenBao 2.6; the suites run against a real server too (CONTRIBUTING.md).
 */
export async function startVaultEndpoint(tls?: {
  readonly key: string;
  readonly cert: string;
}): Promise<VaultEndpoint> {
  const mounts = new Map<string, Mount>();
  const tokens = new Tokens();
  const requests: string[] = [];
  const namespaces = new Set<string>();
  const switches: VaultSwitches = {
    sealed: false,
    initialized: true,
    denied: undefined,
    rateLimited: false,
    slowMs: 0,
    lost: undefined,
    broken: undefined,
    withoutSubkeys: false,
    upgradeAnswers: 0,
    failNext: 0,
  };

  function kv2(mount: string): Kv2Mount {
    const found = mounts.get(mount);
    if (found instanceof Kv2Mount) return found;
    const made = new Kv2Mount();
    mounts.set(mount, made);
    return made;
  }

  function mountRoute(method: string, mount: string, body: unknown): Reply {
    if (method === 'DELETE') {
      mounts.delete(mount);
      return { status: 204 };
    }
    if (mounts.has(mount)) return errors(400, `path is already in use at ${mount}/`);
    const { type, options } = body as { type?: string; options?: { version?: string } };
    if (type !== 'kv') return errors(400, 'this endpoint mounts kv only');
    mounts.set(mount, options?.version === '2' ? new Kv2Mount() : new Kv1Mount());
    return { status: 204 };
  }

  /** What is not there and what the policy hides are answered alike. */
  function aboutMount(name: string, namespace: string): Reply {
    const mount = mounts.get(qualified(namespace, name));
    const hidden = mount === undefined || switches.denied?.test(`${name}/`) === true;
    return hidden
      ? errors(
          403,
          `preflight capability check returned 403, please ensure client's policies grant access to path "${name}/"`,
        )
      : data({ type: 'kv', path: `${name}/`, options: { version: mount.version } });
  }

  function health(namespace: string): Reply {
    if (namespace !== '') return errors(400, 'operation unavailable in namespaces');
    const status = !switches.initialized ? 501 : switches.sealed ? 503 : 200;
    return { status, body: { initialized: switches.initialized, sealed: switches.sealed, standby: false } };
  }

  function outage(): Reply | undefined {
    if (switches.sealed) return errors(503, 'Vault is sealed');
    if (switches.broken !== undefined) return errors(switches.broken, 'internal error');
    if (switches.failNext > 0) {
      switches.failNext -= 1;
      return errors(500, 'internal error');
    }
    if (switches.rateLimited) return errors(429, 'request path "x": rate limit quota exceeded');
    return undefined;
  }

  function route(call: Call): Reply {
    const { method, path, token, body, namespace } = call;
    if (path === 'sys/health') return health(namespace);
    const away = outage();
    if (away !== undefined) return away;
    if (namespace !== '' && !namespaces.has(namespace)) return errors(404, 'namespace not found');
    if (path === `auth/${tokens.appRole.mount}/login`) return tokens.login(body);
    if (/^auth\/.*\/login$/.test(path))
      return errors(404, `no handler for route "${path}". route entry not found.`);
    if (!tokens.isGood(token)) return errors(403, 'permission denied', 'invalid token');
    if (path === 'auth/token/lookup-self') return tokens.lookUp(token);
    if (path === 'auth/token/renew-self') return tokens.renew(token);
    const about = /^sys\/internal\/ui\/mounts\/([^/]+)$/.exec(path)?.[1];
    if (about !== undefined) return aboutMount(about, namespace);
    if (switches.denied?.test(path)) return DENIED;
    const made = /^sys\/namespaces\/([^/]+)$/.exec(path)?.[1];
    if (made !== undefined) {
      if (method === 'DELETE') namespaces.delete(made);
      else namespaces.add(made);
      return data({});
    }
    const mountPath = /^sys\/mounts\/([^/]+)$/.exec(path)?.[1];
    if (mountPath !== undefined) return mountRoute(method, qualified(namespace, mountPath), body);
    return documentRoute(call);
  }

  function documentRoute({ method, path, query, body, namespace }: Call): Reply {
    const [name = '', api = '', ...rest] = path.split('/');
    const mount = mounts.get(qualified(namespace, name));
    if (mount === undefined) return errors(404, `no handler for route "${path}". route entry not found.`);
    if (switches.upgradeAnswers > 0 && api === 'data' && method === 'POST') {
      switches.upgradeAnswers -= 1;
      return errors(
        400,
        'Upgrading from non-versioned to versioned data. This backend will be unavailable for a brief period and will resume service shortly.',
      );
    }
    if (mount instanceof Kv2Mount) mount.withoutSubkeys = switches.withoutSubkeys;
    return mount.answer({ method, api, path: rest.join('/'), query, body });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET';
    requests.push(`${method} ${request.url}`);
    const body = await readBody(request);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const path = decodeURIComponent(url.pathname.replace(/^\/v1\//, ''));
    const header = (name: string): string | undefined => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : undefined;
    };
    const namespace = (header('x-vault-namespace') ?? '').replace(/\/$/, '');
    const token = header('x-vault-token');
    const reply = route({ method, path, query: url.searchParams, namespace, token, body });
    if (switches.lost?.test(`${method} ${path}`)) return;
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
    rootToken: tokens.root,
    appRole: tokens.appRole,
    switches,
    requests,
    tokens: tokens.issued,
    issueToken: (ttlSeconds, renewable) => tokens.issue(ttlSeconds, renewable),
    revoke: (token) => void tokens.issued.delete(token),
    put: (mount, path, content) => void kv2(mount).put(path, content),
    softDelete: (mount, path) => kv2(mount).deleteNewest(path),
    hasMount: (mount) => mounts.has(mount),
    contents: (mount, path) => kv2(mount).contents(path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Each namespace has mounts of its own. */
function qualified(namespace: string, mount: string): string {
  return namespace === '' ? mount : `${namespace}/${mount}`;
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
