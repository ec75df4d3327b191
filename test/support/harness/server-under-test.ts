import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { freePort } from './free-port.ts';
import { ownLog } from '../../../src/server/own-log.ts';
import { stringify } from 'yaml';
import type { TenantId, TokenId } from '../../../src/core/model/ids.ts';
import { type Role, ROLES, type TokenKind, type TokenRecord } from '../../../src/core/model/tenant.ts';
import { hashSecret, mintToken } from '../../../src/server/access/token.ts';
import { readOrCreateKey } from '../../../src/server/bootstrap.ts';
import { type Config, loadConfig } from '../../../src/server/config.ts';
import { startServer } from '../../../src/server/server.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { Transaction } from '../../../src/server/store/transaction.ts';
import { ApiClient } from './api-client.ts';
import { BERTH, Program } from './program.ts';
import { Laws } from '../laws.ts';

export interface ControlPlaneOptions {
  /** Keys of berth.yaml by their dotted paths, e.g. `{ 'rateLimit.burst': 5 }`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** A folder that outlives the control plane, for restarts; absent: a temporary one, removed on close. */
  readonly dataDir?: string;
  readonly logLevel?: string;
  /** False: the calls of `api` are not held to the laws. */
  readonly laws?: boolean;
}

export interface TestTenant {
  readonly id: TenantId;
  readonly slug: string;
  /** One live token of each role; the platform's tenant only has `platform-admin` beside them. */
  readonly tokens: Readonly<Record<Role, string>>;
}

export interface MintedToken {
  readonly id: string;
  readonly token: string;
}

export interface TokenWish {
  readonly tenantId: TenantId;
  readonly role: Role;
  readonly kind?: TokenKind;
  readonly expiresAt?: string;
  readonly revokedAt?: string;
}

export interface ControlPlane {
  readonly url: string;
  readonly dataDir: string;
  readonly config: Config;
  readonly store: Store;
  readonly adminToken: string;
  /** With the administrator's token unless a call says otherwise; every call is held to the laws. */
  readonly api: ApiClient;
  readonly laws: Laws;
  /** Lines as they were logged. */
  readonly logs: readonly string[];
  /** Made on first use. */
  tenant(slug: string): Promise<TestTenant>;
  /** Written straight into the store: expired, revoked and node tokens cannot be ordered over HTTP. */
  mintToken(wish: TokenWish): Promise<MintedToken>;
  close(): Promise<void>;
}

export const ADMIN_TOKEN = 'test-administrator-0123456789abcdef-0123456789';

const DEFAULTS = {
  listen: '127.0.0.1:0',
  nodeName: 'control-plane-under-test',
  'rateLimit.perSecond': 1_000_000,
  'rateLimit.burst': 1_000_000,
  'sessions.signInsPerMinute': 1_000_000,
  // Registries of tests listen on free ports.
  'registries.allowPrivate': ['127.0.0.1:*', 'localhost:*'],
};

function nested(flat: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(flat)) {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    let at = root;
    for (const step of steps) at = (at[step] ??= {}) as Record<string, unknown>;
    at[last] = value;
  }
  return root;
}

function writeConfig(folder: string, settings: Readonly<Record<string, unknown>>): string {
  const file = join(folder, 'berth.yaml');
  writeFileSync(file, stringify(nested(settings)));
  return file;
}

function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), 'berth-control-plane-'));
}

/** The server in this process, on a free loopback port, with its own data. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const dataDir = options.dataDir ?? temporaryFolder();
  const file = writeConfig(dataDir, {
    dataDir,
    ...DEFAULTS,
    logLevel: options.logLevel ?? 'debug',
    ...options.config,
  });
  const config = loadConfig(['--config', file], {});
  const logs: string[] = [];
  const { log, feed, line } = ownLog(config.logLevel, { write: (text: string) => void logs.push(text) });
  const server = await startServer({
    config,
    log,
    feed,
    line,
    bootstrapToken: ADMIN_TOKEN,
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const { store, url } = server;
  const api = new ApiClient(url, ADMIN_TOKEN);
  const tenants = new Map<string, TestTenant>();
  const tenantOfToken = new Map<string, string>();
  const laws = new Laws({
    kv: store.kv,
    api,
    adminToken: ADMIN_TOKEN,
    tenantOf: (token) => tenantOfToken.get(token),
  });
  if (options.laws !== false) api.observe(laws);
  const tokenKey = readOrCreateKey(config.tokenKeyFile);

  async function mint(wish: TokenWish): Promise<MintedToken> {
    const id = `tok${Math.random().toString(36).slice(2)}${tenantOfToken.size}` as TokenId;
    const { token, secret } = mintToken(wish.kind ?? 'pat', id);
    const record: TokenRecord = {
      id,
      kind: wish.kind ?? 'pat',
      tenantId: wish.tenantId,
      role: wish.role,
      name: `test ${wish.role}`,
      hash: hashSecret(tokenKey, secret),
      createdAt: new Date().toISOString(),
      createdBy: 'test',
      ...(wish.expiresAt === undefined ? {} : { expiresAt: wish.expiresAt }),
      ...(wish.revokedAt === undefined ? {} : { revokedAt: wish.revokedAt }),
    };
    await store.commit(new Transaction(wish.tenantId).putGlobal('tokens', id, record));
    tenantOfToken.set(token, wish.tenantId);
    return { id, token };
  }

  async function tenantId(slug: string): Promise<TenantId> {
    const known = store.getGlobal('tenant-slugs', slug)?.record.tenantId;
    if (known !== undefined) return known;
    const created = await api.post('/api/v1/tenants', { slug, name: slug });
    if (created.status !== 201) throw new Error(`the tenant ${slug} was refused: ${created.text}`);
    return created.body['id'] as TenantId;
  }

  async function tenant(slug: string): Promise<TestTenant> {
    const known = tenants.get(slug);
    if (known !== undefined) return known;
    const id = await tenantId(slug);
    const tokens: Partial<Record<Role, string>> = {};
    for (const role of ROLES) {
      if (role === 'platform-admin' && slug !== 'platform') continue;
      tokens[role] = (await mint({ tenantId: id, role, ...(role === 'node' ? { kind: 'node' } : {}) })).token;
    }
    const made: TestTenant = {
      id,
      slug,
      tokens: { 'platform-admin': ADMIN_TOKEN, ...tokens } as Record<Role, string>,
    };
    tenants.set(slug, made);
    return made;
  }

  return {
    url,
    dataDir,
    config,
    store,
    adminToken: ADMIN_TOKEN,
    api,
    laws,
    logs,
    tenant,
    mintToken: mint,
    close: async () => {
      api.close();
      const lawful = laws.end();
      // Its failure is told once everything is closed.
      await lawful.catch(() => undefined);
      await server.close();
      if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
      await lawful;
    },
  };
}

export interface SpawnedControlPlane {
  readonly url: string;
  readonly dataDir: string;
  readonly pid: number;
  /** From the start of the process to its first answer on /readyz. */
  readonly readyMs: number;
  readonly api: ApiClient;
  output(): string;
  /** kill -9, and wait for its end. */
  kill(): Promise<void>;
  /** SIGTERM, and wait for its end; answers the exit code. */
  stop(): Promise<number>;
}

export interface SpawnOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  /** Kept by the caller, so that a killed control plane can be started again on its data. */
  readonly dataDir: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Descriptors that the process may have open; absent: as many as we may. */
  readonly descriptors?: number;
}

const READY_LIMIT_MS = 90_000;

/** The server as it is run in earnest: a process of its own through bin/berth. No laws: its store is not ours to read. */
export async function spawnControlPlane(options: SpawnOptions): Promise<SpawnedControlPlane> {
  const port = await freePort();
  const { dataDir } = options;
  const file = writeConfig(dataDir, {
    dataDir,
    ...DEFAULTS,
    listen: `127.0.0.1:${port}`,
    ...options.config,
  });
  const started = performance.now();
  const limit = `${options.descriptors}:${options.descriptors}`;
  const under = options.descriptors === undefined ? [] : ['prlimit', `--nofile=${limit}`];
  const program = new Program([...under, BERTH, 'server', '--config', file], {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '/tmp',
    BERTH_BOOTSTRAP_TOKEN: ADMIN_TOKEN,
    ...options.environment,
  });
  const killOnExit = (): void => program.kill('SIGKILL');
  process.once('exit', killOnExit);
  const url = `http://127.0.0.1:${port}`;
  const api = new ApiClient(url, ADMIN_TOKEN);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    process.off('exit', killOnExit);
    api.close();
    return program.end(signal);
  };
  try {
    await program.until('the control plane', READY_LIMIT_MS, () =>
      api.send('GET', '/readyz').then(
        ({ status }) => (status === 200 ? true : undefined),
        () => undefined,
      ),
    );
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
  return {
    url,
    dataDir,
    pid: program.pid,
    readyMs: performance.now() - started,
    api,
    output: () => program.said,
    kill: async () => {
      await end('SIGKILL');
    },
    stop: async () => (await end('SIGTERM')) ?? -1,
  };
}

/** An image of a registry that refuses the connection at once: writes are stored with a warning, without the network. */
export const UNREACHABLE_IMAGE = '127.0.0.1:1/shop/web:1.4.2';
