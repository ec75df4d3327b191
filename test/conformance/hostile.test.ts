import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from '../../src/server/api/route.ts';
import { isRejectionCode } from '../../src/core/rejections/catalogue.ts';
import type { Answer, CallOptions } from '../support/harness/api-client.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { rawExchange, type RawAnswer } from '../support/harness/raw-exchange.ts';
import { routeTable } from '../support/route-table.ts';
import {
  ADMIN_TOKEN,
  type ControlPlane,
  type SpawnedControlPlane,
  spawnControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';
import { HOSTILE_JSON, HOSTILE_YAML, wrongTypes } from './hostile-bodies.ts';

/** A rejection with a code within a second, never a 5xx, never a hang, and nothing of the process is changed. */

/** Far above what is needed on a busy machine, far below what a body that is walked more than once would take. */
const LIMIT_MS = 4000;
const LARGE = 64 * 2 ** 10;
const TURNS = 8;
const BODY_ROUTES = routeTable().filter((route) => route.body !== undefined);
const PROTOTYPE = Object.getOwnPropertyNames(Object.prototype).sort().join();

let plane: ControlPlane;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane({ logLevel: 'warn' });
  shop = await plane.tenant('shop');
});
afterAll(() => plane.close());

function pathOf(route: Route): string {
  return route.path
    .replace('{tenant}', 'shop')
    .replace('{namespace}', 'resources')
    .replaceAll(/\{[a-z]+\}/gi, 'none');
}

function send(route: Route, options: CallOptions): Promise<Answer> {
  const platform = route.tenant === 'platform';
  return plane.api.call(route.method, pathOf(route), {
    token: platform ? plane.adminToken : shop.tokens['tenant-admin'],
    ...options,
  });
}

/** One parser reads for all routes: what is large is sent to some of them, each text to others, and all of it to every route in the long tier. */
function bodiesFor<T extends string | Buffer>(
  route: Route,
  bodies: Readonly<Record<string, T>>,
): readonly (readonly [string, T])[] {
  const turn = BODY_ROUTES.indexOf(route);
  return Object.entries(bodies).filter(([what, body], at) => {
    // Where the body may be left out, nothing is a body.
    if (route.body?.optional && what === 'nothing') return false;
    return LONG_TIER || body.length < LARGE || (turn + at) % TURNS === 0;
  });
}

function expectRefused(answer: Answer, what: string): void {
  expect(answer.status, `${what}: ${answer.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
  expect(answer.status, `${what}: ${answer.text.slice(0, 300)}`).toBeLessThan(500);
  expect(answer.ms, `${what} took ${answer.ms} ms`).toBeLessThan(LIMIT_MS);
}

async function expectUnharmed(): Promise<void> {
  expect(Object.getOwnPropertyNames(Object.prototype).sort().join()).toBe(PROTOTYPE);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  const health = await plane.api.get('/healthz');
  expect(health.body['status'], health.text).toBe('ok');
}

describe.each(BODY_ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s',
  (_label, route) => {
    it('refuses bodies that are no document', async () => {
      for (const [what, raw] of bodiesFor(route, HOSTILE_JSON))
        expectRefused(await send(route, { raw }), what);
      await expectUnharmed();
    });

    it('refuses the wrong type in every field', async () => {
      const shape = route.body?.shape;
      let sent = 0;
      for (const { path, body, isNull } of shape === undefined ? [] : wrongTypes(shape)) {
        const answer = await send(route, { body });
        sent += 1;
        if (answer.status < 300 && isNull) continue;
        expectRefused(answer, `${path} ${JSON.stringify(body)}`);
      }
      expect(sent).toBeGreaterThan(5);
      await expectUnharmed();
    });

    it('refuses YAML that says something else than it seems to', async () => {
      for (const [what, yaml] of bodiesFor(route, HOSTILE_YAML))
        expectRefused(await send(route, { yaml }), what);
      await expectUnharmed();
    });

    it('refuses other media types and compressed bodies', async () => {
      const types = [
        'text/plain',
        'application/xml',
        'multipart/form-data; boundary=x',
        'a/b/c',
        '\u00e4',
        'application/json; charset=utf-16',
      ];
      for (const contentType of types)
        expectRefused(await send(route, { raw: '{}', contentType }), contentType);
      const gzip = await send(route, {
        raw: HOSTILE_JSON['gzip'] ?? '',
        headers: { 'content-encoding': 'gzip' },
      });
      expectRefused(gzip, 'gzip');
      await expectUnharmed();
    });
  },
);

describe('names in paths', () => {
  const NAMES = [
    '..',
    '%2e%2e',
    '%2e%2e%2f',
    '..%2fweb',
    '%252e%252e',
    '%2f',
    '%5c',
    '%00',
    'a%00b',
    '%c0%af',
    '%ed%a0%80',
    '%ff',
    '%',
    '%zz',
    '%e2%80%a4%e2%80%a4',
    '%ef%bc%8f',
    'w%C3%A9b',
    '%F0%9F%92%A5',
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'a%20b',
    'a+b',
    'a;b',
    'a,b',
    '*',
    '~',
    'WEB',
    'web.',
    'a'.repeat(511),
    'a'.repeat(5000),
    '{name}',
    '%7bname%7d',
    'dep_',
    'dep_zzzz',
    'dep_..%2f..',
    '1e400',
    '-1',
    'null',
    'undefined',
    'NaN',
    "'%20or%201=1--",
    '%3Cscript%3E',
  ];
  const PATHS = routeTable()
    .filter((route) => route.path.includes('{') && route.method === 'GET')
    .map((route) => route.path);

  it('never reach anything, and never a 5xx', async () => {
    for (const path of PATHS) {
      for (const name of NAMES) {
        const asked = path.replaceAll(/\{[a-z]+\}/gi, name);
        const answer = await plane.api.get(asked, { token: shop.tokens.viewer });
        expect(answer.status, `${asked}: ${answer.text.slice(0, 200)}`).toBeLessThan(500);
        expect(answer.ms).toBeLessThan(LIMIT_MS);
        if (answer.status === 200) expect(answer.text, asked).toBe('[]');
      }
    }
    await expectUnharmed();
  });

  it('are unknown names however long they are, and not shown whole', async () => {
    for (const path of PATHS) {
      for (const length of [1000, 4000]) {
        const asked = path.replaceAll(/\{[a-z]+\}/gi, 'z'.repeat(length));
        const { body, text } = await plane.api.get(asked, { token: shop.tokens.viewer });
        expect(body['code'], `${path}: ${text.slice(0, 300)}`).not.toBe('route_not_found');
        expect(text.length, path).toBeLessThan(2000);
      }
    }
  });

  it('of a deployment are of none that there is, with a thousand characters too', async () => {
    const answer = await plane.api.get(`/api/v1/deployments/${'z'.repeat(1000)}`, {
      token: shop.tokens.viewer,
    });
    expect(answer.body).toMatchObject({ code: 'deployment_not_found', received: `${'z'.repeat(255)}…` });
  });

  it('as tenants are refused alike', async () => {
    for (const name of NAMES) {
      if (/[^\u0020-\u007e]/.test(name)) continue;
      const answer = await plane.api.get('/api/v1/deployments', { token: shop.tokens.viewer, tenant: name });
      expect([answer.status, answer.body['code']], name).toEqual([403, 'tenant_forbidden']);
    }
  });

  it('as cursors and queries are refused or empty', async () => {
    for (const name of NAMES) {
      for (const query of [
        `cursor=${name}`,
        `limit=${name}`,
        `${name}=1`,
        `cursor=${Buffer.from(name).toString('base64url')}`,
      ]) {
        for (const list of ['deployments', 'events', 'audit', 'tokens', 'archives/deployments/web']) {
          const answer = await plane.api.get(`/api/v1/${list}?${query}`, {
            token: shop.tokens['tenant-admin'],
          });
          expect(answer.status, `${list}?${query}: ${answer.text.slice(0, 200)}`).toBeLessThan(500);
        }
      }
    }
    await expectUnharmed();
  });
});

describe('the transport', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-hostile-'));
  let spawned: SpawnedControlPlane;
  let slow: Promise<readonly RawAnswer[]>;
  let rssBefore = 0;

  const rss = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${spawned.pid}/status`, 'utf8'))?.[1]) * 1024;
  const head = (lines: readonly string[], method = 'POST', path = '/api/v1/deployments') =>
    [
      `${method} ${path} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${ADMIN_TOKEN}`,
      ...lines,
      '',
      '',
    ].join('\r\n');
  const raw = (lines: readonly string[], body = '') => rawExchange(spawned.url, head(lines) + body);

  beforeAll(async () => {
    spawned = await spawnControlPlane({ dataDir, config: { logLevel: 'warn' } });
    rssBefore = rss();
    // These take as long as the timeouts; the others run beside them.
    const drip = Array.from({ length: 60 }, (_, index) => `X-Drip-${index}: 1\r\n`);
    slow = Promise.all([
      rawExchange(spawned.url, 'GET /api/v1/deployments HTTP/1.1\r\nHost: a\r\n', {
        more: drip,
        everyMs: 500,
        limitMs: 20_000,
        untilClosed: true,
      }),
      rawExchange(spawned.url, 'GET /', { limitMs: 20_000, untilClosed: true }),
    ]);
  });
  afterAll(async () => {
    await spawned.kill();
    rmSync(dataDir, { recursive: true, force: true });
  });

  function expectRecord(answer: RawAnswer, what: string): void {
    expect(answer.status, `${what}: ${answer.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
    expect(answer.status, what).toBeLessThan(500);
    expect(isRejectionCode(String(answer.body['code'])), `${what}: ${answer.text.slice(0, 400)}`).toBe(true);
    expect(Object.keys(answer.body).length, what).toBe(6);
    expect(answer.text.toLowerCase(), what).toContain('x-request-id:');
    expect(answer.ms, what).toBeLessThan(LIMIT_MS);
  }

  it('answers a framing that cannot be read with a record', async () => {
    const JSON_TYPE = 'Content-Type: application/json';
    const cases: Readonly<Record<string, () => Promise<RawAnswer>>> = {
      'no HTTP': () => rawExchange(spawned.url, 'HELO berth\r\n\r\n'),
      'zero bytes': () => rawExchange(spawned.url, Buffer.alloc(64)),
      'a TLS greeting': () => rawExchange(spawned.url, Buffer.from('16030100c8010000c403', 'hex')),
      'no host': () =>
        rawExchange(
          spawned.url,
          `GET /api/v1/deployments HTTP/1.1\r\nAuthorization: Bearer ${ADMIN_TOKEN}\r\n\r\n`,
        ),
      '2,000 headers': () =>
        raw([JSON_TYPE, 'Content-Length: 2', ...Array.from({ length: 2000 }, (_, i) => `X-H${i}: 1`)], '{}'),
      'a header of 64 KB': () => raw([`X-Long: ${'a'.repeat(65_536)}`, 'Content-Length: 0']),
      'a URL of 64 KB': () =>
        rawExchange(spawned.url, head([], 'GET', `/api/v1/deployments?cursor=${'a'.repeat(65_536)}`)),
      'a path of 12 KB': () =>
        rawExchange(spawned.url, head([], 'GET', `/api/v1/deployments/${'a'.repeat(12_000)}`)),
      'a type and no body': () => raw([JSON_TYPE]),
      'two lengths': () => raw([JSON_TYPE, 'Content-Length: 2', 'Content-Length: 3'], '{}'),
      'a length and chunks': () =>
        raw([JSON_TYPE, 'Content-Length: 2', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      'a negative length': () => raw([JSON_TYPE, 'Content-Length: -1'], '{}'),
      'a length that is none': () => raw([JSON_TYPE, 'Content-Length: 2x'], '{}'),
      'a length beyond the limit': () => raw([JSON_TYPE, 'Content-Length: 99999999999'], '{}'),
      'a bad chunk': () => raw([JSON_TYPE, 'Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'),
      'two tokens': () => raw(['Authorization: Bearer x', JSON_TYPE, 'Content-Length: 2'], '{}'),
      'two tenants': () => raw(['X-Tenant-ID: a', 'X-Tenant-ID: b', JSON_TYPE, 'Content-Length: 2'], '{}'),
      'two tenants in two cases': () =>
        raw(['X-Tenant-ID: a', 'x-tenant-id: b', JSON_TYPE, 'Content-Length: 2'], '{}'),
      'two media types': () => raw([JSON_TYPE, 'Content-Type: application/yaml', 'Content-Length: 2'], '{}'),
      'a prototype header': () =>
        raw(['__proto__: x', 'constructor: y', JSON_TYPE, 'Content-Length: 2'], '{}'),
      'a folded header': () => raw(['X-A: 1\r\n folded', JSON_TYPE, 'Content-Length: 2'], '{}'),
      'a bare carriage return': () => raw(['X-A: 1\rX-Tenant-ID: b', JSON_TYPE, 'Content-Length: 2'], '{}'),
      'a method that is none': () => rawExchange(spawned.url, head([], 'BREW')),
      'an absolute URL of another host': () =>
        rawExchange(spawned.url, head([], 'GET', 'http://example.com/api/v1/nothing')),
      'a body that breaks off': () =>
        rawExchange(spawned.url, `${head([JSON_TYPE, 'Content-Length: 2'])}{`, { more: ['x'], everyMs: 50 }),
      'chunks without an end': () =>
        rawExchange(spawned.url, head([JSON_TYPE, 'Transfer-Encoding: chunked']), {
          more: Array.from({ length: 40 }, () => `10000\r\n${'a'.repeat(65_536)}\r\n`),
        }),
    };
    for (const [what, ask] of Object.entries(cases)) expectRecord(await ask(), what);
  });

  it('outlives half-open and idle connections', async () => {
    const idle = Array.from({ length: 300 }, () =>
      rawExchange(spawned.url, 'GET /healthz HT', { limitMs: 1500 }),
    );
    const health = await spawned.api.send('GET', '/healthz');
    expect(health.status).toBe(200);
    expect(health.ms).toBeLessThan(LIMIT_MS);
    await Promise.all(idle);
  });

  it('keeps its memory within bounds under large and deep bodies', async () => {
    for (let round = 0; round < 10; round += 1) {
      for (const body of [
        HOSTILE_JSON['2 MiB'],
        HOSTILE_JSON['400,000 levels, closed'],
        HOSTILE_JSON['100,000 keys'],
      ]) {
        const answer = await spawned.api.send('POST', '/api/v1/deployments', { raw: body ?? '' });
        expect(answer.status).toBeLessThan(500);
      }
    }
    const grown = (rss() - rssBefore) / 2 ** 20;
    console.log(`resident memory grew by ${grown.toFixed(0)} MiB`);
    expect(grown).toBeLessThan(160);
  });

  it('ends connections that never finish their headers', { timeout: 40_000 }, async () => {
    for (const answer of await slow) {
      expect(answer.closed, answer.text).toBe(true);
      expect(answer.ms).toBeLessThan(13_000);
    }
    expect((await spawned.api.send('GET', '/healthz')).status).toBe(200);
  });
});
