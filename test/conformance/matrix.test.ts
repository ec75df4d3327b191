import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Permission, PERMISSIONS } from '../../src/core/model/permission.ts';
import { type Role, ROLES } from '../../src/core/model/tenant.ts';
import type { Route } from '../../src/server/api/route.ts';
import type { Answer, CallOptions, Json } from '../support/harness/api-client.ts';
import { routeTable } from '../support/route-table.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/** 3.6 A: every route × credential × source of the tenant, generated from the route table; the permission table decides. */

const ROUTES = routeTable();
const label = (route: Route) => `${route.method} ${route.path}`;

let pushed: PushedImageRegistry;
let plane: ControlPlane;
let shop: TestTenant;
let bank: TestTenant;
let expired: string;
let revoked: string;
/** Ids of objects that the tenant `shop` has. */
let own: Readonly<Record<string, string>>;

function description(nodeName: string): Json {
  const key = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' });
  return {
    nodeName,
    capacity: { cpu: 4, memoryBytes: 2 ** 33 },
    publicKey: key.toString('base64'),
    platform: 'linux/amd64',
    engine: { kind: 'docker', version: '20.10' },
    agentVersion: '0.1.0',
  };
}

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await startControlPlane({ config: pushed.config });
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
  const past = new Date(Date.now() - 1000).toISOString();
  expired = (await plane.mintToken({ tenantId: shop.id, role: 'tenant-admin', expiresAt: past })).token;
  revoked = (await plane.mintToken({ tenantId: shop.id, role: 'tenant-admin', revokedAt: past })).token;
  const token = shop.tokens['tenant-admin'];
  await plane.api.post(
    '/api/v1/deployments',
    {
      name: 'web',
      image: pushed.image,
      secrets: [{ name: 'DB', vault_path: 'resources/db', generate: { keys: ['password'] } }],
    },
    { token },
  );
  await plane.api.post('/api/v1/nodes', description('shop-node'), { token });
  await plane.api.post('/api/v1/networks', { name: 'backend', nodeId: 'shop-node' }, { token });
  const { id } = await plane.mintToken({ tenantId: shop.id, role: 'viewer' });
  const backup = await plane.api.post('/api/v1/backups', { deploymentName: 'web' }, { token });
  const volume = await plane.api.post(
    '/api/v1/dvm/volumes',
    { name: 'data', class: 'ephemeral', type: 'tmpfs', sizeBytes: 1 },
    { token },
  );
  await plane.api.post(
    '/api/v1/jobs',
    { kind: 'Job', name: 'web', image: pushed.image, schedule: '0 3 * * *' },
    { token },
  );
  await plane.api.post(
    '/api/v1/webhooks',
    {
      name: 'alerts',
      url: 'https://hooks.example.com/berth',
      signing: { vault_path: 'resources/hooks' },
      paused: true,
    },
    { token },
  );
  own = {
    webhook: 'alerts',
    volume: String(volume.body['id']),
    recommendation: 'rec_none',
    deployment: 'web',
    job: 'web',
    secret: 'db',
    node: 'shop-node',
    network: 'backend',
    token: id,
    backup: String(backup.body['id']),
  };
});
afterAll(async () => {
  await plane.close();
  await pushed.stop();
});

type Objects = Readonly<Record<string, string>>;

const MISSING: Objects = {
  deployment: 'gone',
  job: 'gone',
  secret: 'gone',
  webhook: 'gone',
  node: 'gone-node',
  network: 'gone-net',
  token: 'tokgone',
  backup: 'bak_gone',
  volume: 'vol_gone',
  recommendation: 'rec_gone',
};

/** The object that `{name}` or `{id}` of a route names. A route that is not listed fails the run. */
function objectOf(route: Route): string | undefined {
  if (/\/deployments\/\{name\}/.test(route.path)) return 'deployment';
  if (/\/secrets\//.test(route.path) && route.path.includes('{name}')) return 'secret';
  if (/\/jobs\/\{name\}/.test(route.path)) return 'job';
  if (/\/nodes\/\{name\}/.test(route.path)) return 'node';
  if (/\/networks\/\{name\}/.test(route.path)) return 'network';
  if (/\/webhooks\/\{name\}/.test(route.path)) return 'webhook';
  if (route.path.includes('/tokens/{id}')) return 'token';
  if (route.path.includes('/backups/{id}')) return 'backup';
  if (route.path.includes('/volumes/{id}')) return 'volume';
  if (route.path.includes('/recommendations/{id}')) return 'recommendation';
  return undefined;
}

function pathOf(route: Route, objects: Objects, tenant: string): string {
  const object = objectOf(route);
  const path = route.path
    .replace('{tenant}', tenant)
    .replace('{namespace}', 'resources')
    .replace('{version}', '1')
    .replace('{snap}', 'snap-1')
    .replace('{node}', 'gone-node')
    .replace('{host}', 'gone.example')
    .replace('{instance}', 'ins_gone')
    .replace(/\{(?:name|id)\}/, object === undefined ? '{unlisted}' : (objects[object] ?? ''));
  if (path.includes('{')) throw new Error(`the matrix does not know the parameters of ${label(route)}`);
  return path;
}

/** Refused for its content by every body route, so that a permitted call changes nothing. */
const BODY: CallOptions = { body: { 'no-such-field': true } };

function ask(route: Route, objects: Objects, options: CallOptions, tenant = 'shop'): Promise<Answer> {
  const needsHeader = route.tenant === 'header' || route.tenant === 'header-uuid';
  return plane.api.call(route.method, pathOf(route, objects, tenant), {
    ...(route.body === undefined ? {} : BODY),
    ...(needsHeader ? { tenant: shop.id } : {}),
    ...options,
  });
}

function isPermitted(role: Role, route: Route): boolean {
  const wanted: readonly Permission[] =
    typeof route.permission === 'string' ? [route.permission] : route.permission;
  return wanted.some((permission) => PERMISSIONS[role].includes(permission));
}

const code = (answer: Answer) => answer.body['code'];
/** A call that would take the tenant or its token away would end the matrix. */
const destroys = (route: Route) => route.method === 'DELETE' && objectOf(route) === undefined;

describe.each(ROUTES.map((route) => [label(route), route] as const))('%s', (_label, route) => {
  it.each([
    ['no credential', () => null],
    ['a malformed token', () => 'berth_pat_x_y_z'],
    ['a token with a wrong checksum', () => `${shop.tokens.viewer.slice(0, -1)}x`],
    ['an expired token', () => expired],
    ['a revoked token', () => revoked],
  ])('refuses %s', async (_title, token) => {
    const answer = await ask(route, own, { token: token() });
    expect(answer.status, answer.text).toBe(401);
    expect(code(answer)).toBe('unauthenticated');
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  it.each(ROLES)('holds %s to the permission table', async (role) => {
    const objects = route.method === 'GET' ? own : MISSING;
    const platform = route.tenant === 'platform' || role === 'platform-admin';
    const tenant = platform && route.method !== 'GET' ? 'nobody' : 'shop';
    const answer = await ask(
      route,
      objects,
      {
        token: shop.tokens[role],
        ...(role === 'platform-admin' ? { tenant: shop.id } : {}),
        ...(route.path === '/api/v1/events' ? { headers: { accept: 'application/json' } } : {}),
      },
      tenant,
    );
    if (isPermitted(role, route)) expect([401, 403]).not.toContain(answer.status);
    else {
      expect(answer.status, answer.text).toBe(403);
      expect(['role_forbidden', 'tenant_forbidden']).toContain(code(answer));
    }
  });

  it("refuses another tenant's header, whether that tenant exists or not", async () => {
    const token = shop.tokens['tenant-admin'];
    const foreign = await ask(route, own, { token, tenant: bank.id });
    const nobody = await ask(route, own, { token, tenant: '00000000-0000-4000-8000-000000000000' });
    // Who may not do this for anybody learns so before the header is looked at.
    const refused = isPermitted('tenant-admin', route) ? 'tenant_forbidden' : 'role_forbidden';
    for (const answer of [foreign, nobody]) expect([answer.status, code(answer)]).toEqual([403, refused]);
    expect(sameAnswer(foreign)).toEqual(sameAnswer(nobody));
  });

  if (route.tenant === 'path') {
    it('refuses a path and a header that disagree', async () => {
      const foreign = await ask(route, own, { token: shop.tokens['tenant-admin'] }, 'bank');
      expect([foreign.status, code(foreign)]).toEqual([403, 'tenant_forbidden']);
      const disagree = await ask(route, own, { token: plane.adminToken, tenant: bank.id }, 'shop');
      expect([disagree.status, code(disagree)]).toEqual([403, 'tenant_forbidden']);
    });
  }

  if (objectOf(route) !== undefined && !destroys(route)) {
    it("answers for another tenant's object as for a missing one", async () => {
      const options = {
        token: bank.tokens['tenant-admin'],
        ...(route.tenant === 'header-uuid' ? { tenant: bank.id } : {}),
      };
      const foreign = await ask(route, own, options);
      const missing = await ask(route, MISSING, options);
      expect([foreign.status, code(foreign)]).toEqual([missing.status, code(missing)]);
      expect(sameAnswer(foreign)).toEqual(sameAnswer(missing));
      for (const secret of [shop.id, 'shop-node"'])
        if (foreign.status === 200) expect(foreign.text).not.toContain(secret);
    });
  }
});

/** Without what repeats the request: the name that was asked for, and the number of the request. */
function sameAnswer(answer: Answer): Json {
  const texts = Object.entries(answer.body).map(([key, value]) => [
    key,
    key === 'received'
      ? ''
      : String(value).replaceAll(
          /\b(?:web|db|alerts|shop-node|gone-node|backend|gone-net|gone|tok[a-z0-9]+|bak_[a-z0-9]+|vol_[a-z0-9]+|rec_[a-z0-9]+)\b/g,
          '*',
        ),
  ]);
  return Object.fromEntries(texts) as Json;
}

describe('the matrix', () => {
  it('has rows for every route', () => {
    for (const route of ROUTES) expect(() => pathOf(route, own, 'shop'), label(route)).not.toThrow();
    const rows = ROUTES.length * (5 + ROLES.length + 1);
    console.log(`${ROUTES.length} routes, at least ${rows} rows`);
  });

  it('left everything of the tenant where it was', async () => {
    const token = shop.tokens['tenant-admin'];
    expect((await plane.api.get('/api/v1/deployments/web', { token })).status).toBe(200);
    expect((await plane.api.get('/api/v1/nodes/shop-node', { token })).status).toBe(200);
    expect((await plane.api.get('/api/v1/networks/backend', { token })).status).toBe(200);
    const secret = await plane.api.get('/api/v1/secrets/resources/db', { token });
    expect(secret.body['version']).toBe(1);
  });

  it('lets a join token enrol and nothing else', async () => {
    const made = await plane.api.post('/api/v1/join-tokens', {}, { token: shop.tokens['tenant-admin'] });
    const token = String(made.body['token']);
    for (const route of ROUTES.filter((one) => label(one) !== 'POST /api/v1/nodes')) {
      const answer = await ask(route, own, { token });
      expect([401, 403], `${label(route)}: ${answer.text}`).toContain(answer.status);
    }
  });

  it('closes a token at once when it is revoked', async () => {
    const token = shop.tokens['tenant-admin'];
    const made = await plane.api.post('/api/v1/tokens', { name: 'ci', role: 'viewer' }, { token });
    const fresh = String(made.body['token']);
    expect((await plane.api.get('/api/v1/deployments', { token: fresh })).status).toBe(200);
    await plane.api.delete(`/api/v1/tokens/${String(made.body['id'])}`, { token });
    expect((await plane.api.get('/api/v1/deployments', { token: fresh })).status).toBe(401);
  });
});

describe('the rate limit', () => {
  it('is per token, says when to come back, and lets others through', async () => {
    const slow = await startControlPlane({ config: { 'rateLimit.perSecond': 1, 'rateLimit.burst': 5 } });
    try {
      const tenant = await slow.tenant('shop');
      const answers: Answer[] = [];
      for (let turn = 0; turn < 12; turn += 1)
        answers.push(await slow.api.get('/api/v1/deployments', { token: tenant.tokens.viewer }));
      const limited = answers.filter(({ status }) => status === 429);
      expect(limited.length).toBeGreaterThanOrEqual(5);
      expect(limited[0]?.body).toMatchObject({
        code: 'rate_limited',
        received: `(redacted, string, ${`Bearer ${tenant.tokens.viewer}`.length} bytes)`,
      });
      expect(Number(limited[0]?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      const other = await slow.api.get('/api/v1/deployments', { token: tenant.tokens.deployer });
      expect(other.status).toBe(200);
      // The same of what is beside the interface, whether or not the token may read it.
      const scrapes: number[] = [];
      for (let turn = 0; turn < 12; turn += 1)
        scrapes.push((await slow.api.get('/metrics', { token: tenant.tokens.metrics, laws: false })).status);
      expect([scrapes[0], scrapes.filter((status) => status === 429).length >= 5]).toEqual([403, true]);
    } finally {
      await slow.close();
    }
  });
});
