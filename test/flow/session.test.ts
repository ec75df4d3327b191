import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { routeTable } from '../support/route-table.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

const SESSION = '/api/v1/session';
const DEPLOYMENTS = '/api/v1/deployments';

let plane: ControlPlane;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
});
afterAll(() => plane.close());

async function signedIn(on: ControlPlane, token: string) {
  const answer = await on.api.call('POST', SESSION, { token });
  expect(answer.status, answer.text).toBe(201);
  const [setCookie = ''] = answer.headers['set-cookie'] ?? [];
  const [cookie = ''] = setCookie.split(';', 1);
  const csrf = String(answer.body['csrfToken']);
  const call = (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: unknown,
  ) =>
    on.api.call(method, path, {
      token: null,
      laws: false,
      headers: { cookie, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  return { setCookie, cookie, csrf, call, answer };
}

describe('a browser session', () => {
  it('is a cookie that no script reads and no other site sends', async () => {
    const { setCookie, answer } = await signedIn(plane, shop.tokens.deployer);
    expect(setCookie).toMatch(/^berth_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(answer.body).toMatchObject({
      role: 'deployer',
      tokenName: 'test deployer',
      tenant: { slug: 'shop' },
    });
    expect(answer.text).not.toContain(/=([\w-]{43});/.exec(setCookie)?.[1]);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('writes nothing on any route without its CSRF token', async () => {
    const { call } = await signedIn(plane, shop.tokens['tenant-admin']);
    const writes = routeTable().filter(({ method }) => method !== 'GET');
    expect(writes.length).toBeGreaterThan(20);
    for (const { method, path, body } of writes) {
      const url = path.replaceAll(/\{[A-Za-z]+\}/g, 'shop');
      const answer = await call(method, url, {}, body === undefined ? undefined : {});
      expect([`${method} ${path}`, answer.status, answer.body['code']]).toEqual([
        `${method} ${path}`,
        403,
        'csrf_token_invalid',
      ]);
    }
  });

  it('is never the one that the browser brought along', async () => {
    const first = await signedIn(plane, shop.tokens.viewer);
    const again = await plane.api.call('POST', SESSION, {
      token: shop.tokens.viewer,
      headers: { cookie: first.cookie },
    });
    expect(again.headers['set-cookie']?.[0]).not.toContain(first.cookie);
  });

  it('is not opened by another session, which would then never end', async () => {
    const { call, csrf } = await signedIn(plane, shop.tokens.viewer);
    const again = await call('POST', SESSION, { 'x-csrf-token': csrf });
    expect(again.body['code']).toBe('unauthenticated');
    expect(again.headers['set-cookie']).toBeUndefined();
  });

  it('is ended by its own token only', async () => {
    const { cookie, call } = await signedIn(plane, shop.tokens.viewer);
    const bank = await plane.tenant('bank-out');
    const other = await plane.api.call('DELETE', SESSION, {
      token: bank.tokens.viewer,
      headers: { cookie },
    });
    expect(other.body).toEqual({ ended: false });
    expect((await call('GET', DEPLOYMENTS)).status).toBe(200);
  });

  it('takes the place of the longest unused one when a token has very many', async () => {
    const mill = await plane.tenant('mill');
    const first = await signedIn(plane, mill.tokens.viewer);
    const second = await signedIn(plane, mill.tokens.viewer);
    for (let opened = 2; opened <= 100; opened += 1) await signedIn(plane, mill.tokens.viewer);
    const kept = plane.store.listGlobal('sessions').filter(({ record }) => record.tenantId === mill.id);
    expect(kept).toHaveLength(100);
    expect((await first.call('GET', DEPLOYMENTS)).body).toMatchObject({
      code: 'unauthenticated',
      received: '(absent)',
    });
    expect((await second.call('GET', DEPLOYMENTS)).status).toBe(200);
  });

  it('goes with its tenant, in commits that every store takes', async () => {
    const gone = await plane.tenant('gone');
    for (let opened = 0; opened < 70; opened += 1) {
      await signedIn(plane, gone.tokens.viewer);
      await signedIn(plane, gone.tokens.deployer);
    }
    const { kv } = plane.store;
    const commit = vi.spyOn(kv, 'commit');
    const answer = await plane.api.call('DELETE', '/api/v1/tenants/gone');
    expect(answer.status, answer.text).toBe(200);
    const sizes = commit.mock.calls.map(([{ puts = [], deletes = [] }]) => puts.length + deletes.length);
    commit.mockRestore();
    expect(Math.max(...sizes)).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(128);
    await vi.waitFor(() =>
      expect(plane.store.listGlobal('sessions').filter(({ record }) => record.tenantId === gone.id)).toEqual(
        [],
      ),
    );
  });

  it('acts as its token, with the same role', async () => {
    const { call, csrf } = await signedIn(plane, shop.tokens.viewer);
    expect((await call('GET', DEPLOYMENTS)).status).toBe(200);
    const refused = await call('POST', DEPLOYMENTS, { 'x-csrf-token': csrf }, {});
    expect(refused.body['code']).toBe('role_forbidden');
    const bank = await plane.tenant('bank');
    const other = await call('GET', DEPLOYMENTS, { 'x-tenant-id': bank.id });
    expect(other.body['code']).toBe('tenant_forbidden');
  });

  it('is stored without its id, and its opening is in the audit', async () => {
    const { cookie } = await signedIn(plane, shop.tokens['tenant-admin']);
    const id = cookie.slice('berth_session='.length);
    const stored = JSON.stringify(plane.store.listGlobal('sessions'));
    expect(stored).not.toContain(id);
    const { list } = await plane.api.call('GET', '/api/v1/audit', { token: shop.tokens['tenant-admin'] });
    expect(list.map(({ action }) => action)).toContain('session.opened');
    expect(plane.logs.join('')).not.toContain(id);
  });

  it('ends with sign-out, for good', async () => {
    const { call, csrf, cookie } = await signedIn(plane, shop.tokens.deployer);
    const out = await call('DELETE', SESSION, { 'x-csrf-token': csrf });
    expect([out.status, out.body]).toEqual([200, { ended: true }]);
    expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
    expect((await call('GET', DEPLOYMENTS)).status).toBe(401);
    const bearer = await plane.api.call('DELETE', SESSION, {
      token: shop.tokens.deployer,
      headers: { cookie },
    });
    expect(bearer.body).toEqual({ ended: false });
  });

  it('is not believed when the cookie comes twice', async () => {
    const { call, cookie } = await signedIn(plane, shop.tokens.viewer);
    expect((await call('GET', DEPLOYMENTS, { cookie: `${cookie}; ${cookie}` })).status).toBe(401);
  });

  it('closes with its token, and its streams within a second', async () => {
    const { id, token } = await plane.mintToken({ tenantId: shop.id, role: 'viewer' });
    const { call, cookie } = await signedIn(plane, token);
    const stream = await fetch(`${plane.url}/api/v1/events`, {
      headers: { cookie, accept: 'text/event-stream' },
    });
    const reader = stream.body?.getReader();
    await reader?.read();
    const revoked = performance.now();
    await plane.api.call('DELETE', `/api/v1/tokens/${id}`, { token: shop.tokens['tenant-admin'] });
    expect((await call('GET', DEPLOYMENTS)).status).toBe(401);
    const ended = async () => {
      for (;;) if ((await reader?.read())?.done !== false) return;
    };
    await ended().catch(() => undefined);
    expect(performance.now() - revoked).toBeLessThan(3000);
  });
});

describe('behind TLS', () => {
  it('the cookie is for this host alone', async () => {
    const proxied = await startControlPlane({ config: { baseUrl: 'https://berth.example.com' } });
    try {
      const { setCookie } = await signedIn(proxied, proxied.adminToken);
      expect(setCookie).toMatch(
        /^__Host-berth_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
      );
    } finally {
      await proxied.close();
    }
  });
});
