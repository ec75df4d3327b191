import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane({ config: { 'sessions.signInsPerMinute': 30 } });
  shop = await plane.tenant('shop');
});
afterAll(() => plane.close());

const signIn = (token: string, headers: Readonly<Record<string, string>> = {}) =>
  plane.api.call('POST', '/api/v1/session', { token, headers, laws: false });

attack('viewer', 'signing in again and again, a line of the audit each time', async () => {
  const statuses = [];
  for (let count = 0; count < 60; count += 1) statuses.push((await signIn(shop.tokens.viewer)).status);
  expect(statuses.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 201));
  const refused = await signIn(shop.tokens.viewer);
  expect([statuses.at(-1), refused.body['code'], Number(refused.headers['retry-after']) > 0]).toEqual([
    429,
    'rate_limited',
    true,
  ]);
  expect(refused.body['received']).toMatch(/^\(redacted, string, \d+ bytes\)$/);
  expect((await signIn(shop.tokens.deployer)).status).toBe(201);
});

attack('anybody on the way to the proxy', 'the cookie of a session in the clear', async () => {
  const proxied = { 'x-forwarded-proto': 'https' };
  const opened = await signIn(shop.tokens['tenant-admin'], proxied);
  const [cookie = ''] = opened.headers['set-cookie'] ?? [];
  expect(cookie).toMatch(/^__Host-berth_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
  expect(opened.headers['strict-transport-security']).toBe('max-age=31536000');
  const [pair = ''] = cookie.split(';', 1);
  const read = (headers: Readonly<Record<string, string>>) =>
    plane.api.get('/api/v1/session', { token: null, headers: { cookie: pair, ...headers } });
  expect((await read(proxied)).status).toBe(200);
  // Nobody who asks in the clear is known by it.
  expect((await read({})).status).toBe(401);
  const plain = await plane.api.get('/api/v1/session');
  expect(plain.headers['strict-transport-security']).toBeUndefined();
});

attack('anybody', 'figures of the installation from /metrics', async () => {
  const read = (token: string | null) => plane.api.get('/metrics', { token, laws: false });
  expect((await read(null)).body['code']).toBe('unauthenticated');
  expect((await read(shop.tokens['tenant-admin'])).body['code']).toBe('role_forbidden');
  expect((await read(shop.tokens.node)).body['code']).toBe('role_forbidden');
  const allowed = await read(plane.adminToken);
  expect([allowed.status, allowed.text.includes('berth_http_requests_total')]).toEqual([200, true]);
});

attack('viewer', 'figures of other tenants, by a token of its own that may read them', async () => {
  const ask = (token: string) =>
    plane.api.post('/api/v1/tokens', { name: 'scraper', role: 'metrics' }, { token });
  expect((await ask(shop.tokens.viewer)).body['code']).toBe('role_forbidden');
  const refused = await ask(shop.tokens['tenant-admin']);
  expect([refused.status, refused.body['code'], refused.body['field']]).toEqual([
    403,
    'role_forbidden',
    'role',
  ]);
  // Nor does one that is there all the same read more than any other of the tenant.
  for (const token of [shop.tokens.viewer, shop.tokens.metrics])
    expect((await plane.api.get('/metrics', { token, laws: false })).body['code']).toBe('role_forbidden');
});

attack("a holder of the scraper's token", 'anything but the figures', async () => {
  const made = await plane.api.post('/api/v1/tokens', { name: 'scraper', role: 'metrics' });
  const token = String(made.body['token']);
  const read = await plane.api.get('/metrics', { token, laws: false });
  expect([read.status, read.text.includes('berth_build_info')]).toEqual([200, true]);
  for (const path of ['deployments', 'nodes', 'tenants', 'tokens', 'events', 'audit', 'secrets'])
    expect((await plane.api.get(`/api/v1/${path}`, { token })).body['code']).toBe('role_forbidden');
  const more = await plane.api.post('/api/v1/tokens', { name: 'more', role: 'viewer' }, { token });
  expect(more.body['code']).toBe('role_forbidden');
});
