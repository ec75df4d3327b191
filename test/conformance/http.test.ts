import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeploymentRecord } from '../../src/core/model/deployment.ts';
import type { EventRecord } from '../../src/core/model/event.ts';
import { CATALOGUE } from '../../src/core/rejections/catalogue.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import type { Answer, CallOptions, Json } from '../support/harness/api-client.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { routeTable } from '../support/route-table.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';
import { inTier } from '../support/fault-tier.ts';

/** Over HTTP: revisions, idempotency, dry runs, merging, pages, events, archives, audit. */

const DEPLOYMENTS = '/api/v1/deployments';
let pushed: PushedImageRegistry;
let plane: ControlPlane;
let shop: TestTenant;
let count = 0;

beforeAll(async () => {
  pushed = await startPushedImage();
  plane = await startControlPlane({ config: pushed.config });
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  await plane.close();
  await pushed.stop();
});

const call = (method: string, path: string, options: CallOptions = {}) =>
  plane.api.call(method, path, { token: shop.tokens['tenant-admin'], ...options });
const fresh = (prefix = 'web') => `${prefix}-${(count += 1)}`;

async function create(fields: Json = {}): Promise<Answer> {
  const answer = await call('POST', DEPLOYMENTS, { body: { name: fresh(), image: pushed.image, ...fields } });
  expect(answer.status, answer.text).toBe(201);
  return answer;
}

const pathTo = (answer: Answer) => `${DEPLOYMENTS}/${String(answer.body['name'])}`;

describe('revisions', () => {
  it('are the ETag of write and read, and guard update and deletion', async () => {
    const made = await create();
    const read = await call('GET', pathTo(made));
    expect(read.headers.etag).toBe(made.headers.etag);
    expect(read.headers.etag).toBe(`"${String(read.body['revision'])}"`);
    const guard = { 'if-match': String(read.headers.etag) };
    const updated = await call('PUT', pathTo(made), { body: { replicas: 2 }, headers: guard });
    expect(updated.status).toBe(200);
    const late = await call('PUT', pathTo(made), { body: { replicas: 3 }, headers: guard });
    expect([late.status, late.body['code'], late.body['expected']]).toEqual([
      412,
      'revision_mismatch',
      updated.headers.etag,
    ]);
    const any = await call('PUT', pathTo(made), { body: { replicas: 4 }, headers: { 'if-match': '*' } });
    expect(any.status).toBe(200);
    const gone = await call('DELETE', pathTo(made), { headers: { 'if-match': String(any.headers.etag) } });
    expect(gone.status).toBe(200);
    expect((await call('GET', pathTo(made))).status).toBe(404);
  });

  it('C-02: no update of 16 clients is lost', async () => {
    const WRITES = inTier({ usual: 6, long: 15 });
    const made = await create({ labels: { n: '0' } });
    let accepted = 0;
    const client = async (): Promise<void> => {
      for (let done = 0; done < WRITES; ) {
        const read = await call('GET', pathTo(made), { laws: false });
        const n = Number((read.body['labels'] as Json)['n']);
        const answer = await call('PUT', pathTo(made), {
          body: { labels: { n: String(n + 1) } },
          headers: { 'if-match': String(read.headers.etag) },
          laws: false,
        });
        expect([200, 412], answer.text).toContain(answer.status);
        if (answer.status === 200) {
          accepted += 1;
          done += 1;
        }
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
    const read = await call('GET', pathTo(made));
    expect((read.body['labels'] as Json)['n']).toBe(String(accepted));
    expect(accepted).toBe(16 * WRITES);
  });
});

describe('Idempotency-Key', () => {
  it('replays the first answer and refuses another request', async () => {
    const headers = { 'idempotency-key': fresh('key') };
    const body = { name: fresh(), image: pushed.image };
    const first = await call('POST', DEPLOYMENTS, { body, headers });
    const again = await call('POST', DEPLOYMENTS, { body, headers });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotency-replayed']).toBe('true');
    const other = await call('POST', DEPLOYMENTS, { body: { ...body, replicas: 2 }, headers });
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_key_conflict']);
    const unkeyed = await call('POST', DEPLOYMENTS, { body });
    expect(unkeyed.body['code']).toBe('deployment_already_exists');
  });

  it('makes one record of 20 parallel requests', async () => {
    const headers = { 'idempotency-key': fresh('key') };
    const body = { name: fresh(), image: pushed.image };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call('POST', DEPLOYMENTS, { body, headers, laws: false })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map((answer) => answer.body['id'])).size).toBe(1);
    const archive = await call('GET', `/api/v1/archives/deployments/${body.name}`);
    expect(archive.list.length).toBe(1);
  });

  it('replays the creation of a tenant', async () => {
    const headers = { 'idempotency-key': fresh('key') };
    const options = { body: { slug: fresh('tenant') }, headers, token: plane.adminToken };
    const first = await call('POST', '/api/v1/tenants', options);
    const again = await call('POST', '/api/v1/tenants', options);
    expect([first.status, again.status], again.text).toEqual([201, 201]);
    expect(again.body['id']).toBe(first.body['id']);
  });
});

describe('dryRun', () => {
  it('stores nothing and says what would be stored', async () => {
    const head = await plane.store.kv.head();
    const name = fresh();
    const answer = await call('POST', `${DEPLOYMENTS}?dryRun=true`, {
      body: { name, image: pushed.image },
      laws: false,
    });
    expect(answer.status).toBe(200);
    expect(answer.body['plan']).toBeDefined();
    expect((await call('GET', `${DEPLOYMENTS}/${name}`)).status).toBe(404);
    expect(await plane.store.kv.get(`h/t/${shop.id}/deployments/${name}`)).toBeUndefined();
    expect(head).toBeGreaterThan(0);
  });

  it('tells each field that an update would change', async () => {
    const made = await create({ environment: { A: '1' }, labels: { team: 'shop' } });
    const answer = await call('PUT', `${pathTo(made)}?dryRun=true`, {
      body: { environment: { B: '2', constructor: 'x' }, replicas: 3 },
      laws: false,
    });
    const { diff } = answer.body['plan'] as {
      diff: readonly { field: string; from: unknown; to: unknown }[];
    };
    expect(diff.map(({ field }) => field).sort()).toEqual([
      'environment.A',
      'environment.B',
      'environment.constructor',
      'replicas',
    ]);
    expect(diff.find(({ field }) => field === 'environment.constructor')?.from).toBeNull();
    expect(answer.body['removed']).toEqual(['environment[A]']);
    expect((await call('GET', pathTo(made))).body['replicas']).toBe(1);
  });
});

describe('updates', () => {
  it('replace what is sent, keep what is not, clear what is null, and say what was lost', async () => {
    const made = await create({
      command: ['/bin/web'],
      environment: { A: '1', B: '2' },
      labels: { team: 'shop' },
      dependsOn: { db: 'started' },
    });
    const updated = await call('PUT', pathTo(made), { body: { environment: { B: '3' }, command: null } });
    expect(updated.body['environment']).toEqual({ B: '3' });
    expect(updated.body['command']).toBeUndefined();
    expect(updated.body['labels']).toEqual({ team: 'shop' });
    expect([...(updated.body['removed'] as string[])].sort()).toEqual(['command', 'environment[A]']);
  });

  it('take back what a read showed, and say what the server owns', async () => {
    const made = await create({ placement: { residency: { country: 'DE', blockedCountries: ['RU'] } } });
    const read = await call('GET', pathTo(made));
    const back = await call('PUT', pathTo(made), { body: read.body });
    expect(back.status, back.text).toBe(200);
    expect(back.body['alterations']).toEqual([]);
    expect(back.body['removed']).toEqual([]);
    const forged = await call('PUT', pathTo(made), { body: { id: 'dep_other', tenantId: 'other' } });
    expect((forged.body['alterations'] as Json[]).map((one) => one['field'])).toEqual(['id', 'tenantId']);
    expect(forged.body['id']).toBe(read.body['id']);
  });

  it('take YAML as JSON', async () => {
    const made = await create();
    const yaml =
      'replicas: 2\nenvironment:\n  VERSION: "1.10"\n  EMPTY: ""\ncommand: [/bin/web, --port, "8080"]\n';
    const updated = await call('PUT', pathTo(made), { yaml });
    expect(updated.body['environment']).toEqual({ VERSION: '1.10', EMPTY: '' });
    expect(updated.body['command']).toEqual(['/bin/web', '--port', '8080']);
  });
});

describe('unknown fields', () => {
  it.each([
    ['healthcheck', 'healthCheck'],
    ['replica', 'replicas'],
    ['enviroment', 'environment'],
    ['vaultPath', undefined],
  ])('%s names %s', async (field, near) => {
    const answer = await call('POST', DEPLOYMENTS, { body: { name: 'x', [field]: 'x' } });
    expect(answer.body['code']).toBe('field_unknown');
    if (near !== undefined) expect(String(answer.body['expected'])).toContain(near);
  });
});

interface Stream {
  readonly ids: string[];
  close(): void;
  until(seen: (ids: readonly string[]) => boolean): Promise<void>;
}

function openStream(token: string, lastEventId?: string): Promise<Stream> {
  const { hostname, port } = new URL(plane.url);
  const socket = connect(Number(port), hostname);
  const ids: string[] = [];
  let wake: () => void = () => undefined;
  let text = '';
  return new Promise((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const frame = text.slice(0, at);
        text = text.slice(at + 2);
        const id = /^id: (\S+)$/m.exec(frame)?.[1];
        if (id !== undefined) ids.push(id);
        if (frame.includes(': connected')) {
          resolve({
            ids,
            close: () => socket.destroy(),
            until: async (seen) => {
              while (!seen(ids)) await new Promise<void>((done) => (wake = done));
            },
          });
        }
      }
      wake();
    });
    socket.on('error', () => undefined);
    const last = lastEventId === undefined ? '' : `Last-Event-ID: ${lastEventId}\r\n`;
    socket.write(
      `GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nAccept: text/event-stream\r\n${last}\r\n`,
    );
  });
}

describe('events', () => {
  it('are listed oldest first, by kind and subject, and come live and resumed without a loss', async () => {
    const tenant = await plane.tenant('events');
    const token = tenant.tokens['tenant-admin'];
    const make = (name: string) =>
      call('POST', DEPLOYMENTS, { body: { name, image: pushed.image, replicas: 0 }, token });
    const live = await openStream(tenant.tokens.viewer);
    for (const name of ['a', 'b', 'c']) await make(name);
    const listed = async () =>
      (await call('GET', '/api/v1/events?limit=1000', { token })).list.map((event) => String(event['id']));
    await live.until((ids) => ids.length >= 3);
    const before = await listed();
    await live.until((ids) => before.every((id) => ids.includes(id)));
    live.close();
    const last = String(live.ids.at(-1));
    for (const name of ['d', 'e', 'f']) await make(name);
    const resumed = await openStream(tenant.tokens.viewer, last);
    await make('g');
    const after = await listed();
    await resumed.until((ids) => after.every((id) => ids.includes(id) || live.ids.includes(id)));
    resumed.close();
    expect(new Set([...live.ids, ...resumed.ids]).size).toBe(live.ids.length + resumed.ids.length);
    const created = await call('GET', '/api/v1/events?kind=deployment.created&subject=Deployment/b', {
      token,
    });
    expect(created.list.map((event) => (event['subject'] as Json)['name'])).toEqual(['b']);
  });

  it('are resumed past more than a reader may fall behind', { timeout: 60_000 }, async () => {
    const tenant = await plane.tenant('many-events');
    const store = plane.store.forTenant(tenant.id);
    const event = (index: number): EventRecord => ({
      id: `evt_0${String(index).padStart(9, '0')}`,
      at: new Date().toISOString(),
      kind: 'test.event',
      tenantId: tenant.id,
      subject: { kind: 'Deployment', name: 'x' },
      message: 'x',
      details: {},
    });
    const total = 10_050;
    await store.commit(store.transaction().putCold('events', event(0).id, event(0)));
    for (let from = 1; from < total; from += 500) {
      const transaction = store.transaction();
      for (let index = from; index < Math.min(total, from + 500); index += 1)
        transaction.putCold('events', event(index).id, event(index));
      await store.commit(transaction);
    }
    const stream = await openStream(tenant.tokens.viewer, event(0).id);
    await stream.until((ids) => ids.length >= total - 1);
    stream.close();
    expect(stream.ids.length).toBe(total - 1);
  });
});

describe('history', () => {
  it('keeps 100 versions, also past the deletion', async () => {
    const made = await create({ replicas: 0 });
    for (let turn = 0; turn < 104; turn += 1)
      await call('PUT', pathTo(made), { body: { labels: { turn: String(turn) } }, laws: false });
    await call('DELETE', pathTo(made));
    const archive = await call('GET', `/api/v1/archives/deployments/${String(made.body['name'])}?limit=1000`);
    expect(archive.list.length).toBe(100);
    expect([archive.list[0]?.['version'], archive.list.at(-1)?.['version']]).toEqual([7, 106]);
    expect(archive.list.at(-1)?.['change']).toBe('deleted');
  });

  it('has an audit line for each change, without values', async () => {
    const tenant = await plane.tenant('audited');
    const token = tenant.tokens['tenant-admin'];
    const value = 'audit-must-not-hold-this-value';
    const steps: readonly [string, string, Json | undefined][] = [
      [
        'POST',
        DEPLOYMENTS,
        {
          name: 'web',
          image: pushed.image,
          secrets: [{ name: 'DB', vault_path: 'resources/db', values: { password: value } }],
        },
      ],
      ['PUT', `${DEPLOYMENTS}/web`, { environment: { SETTING: value } }],
      ['PUT', '/api/v1/secrets/resources/other', { values: { password: value } }],
      ['POST', `${DEPLOYMENTS}/web/secrets/rotate`, { phase: 'stage' }],
      ['POST', '/api/v1/tokens', { name: 'ci', role: 'viewer' }],
      ['DELETE', `${DEPLOYMENTS}/web`, undefined],
    ];
    const ids: unknown[] = [];
    for (const [method, path, body] of steps) {
      const answer = await call(method, path, { token, ...(body === undefined ? {} : { body }) });
      expect(answer.status, answer.text).toBeLessThan(300);
      ids.push(answer.headers['x-request-id']);
    }
    await call('POST', DEPLOYMENTS, { token, body: { name: 'refused' } });
    const audit = await call('GET', '/api/v1/audit', { token });
    const lines = audit.list.filter((line) => ids.includes(line['requestId']));
    expect(lines.map((line) => line['action'])).toEqual([
      'deployment.created',
      'deployment.updated',
      'secret.written',
      'deployment.rotated',
      'token.created',
      'deployment.deleted',
    ]);
    expect(audit.text).not.toContain(value);
  });
});

describe('public paths', () => {
  it('describe every route in /openapi.json', async () => {
    const { body } = await call('GET', '/openapi.json', { token: null });
    const paths = body['paths'] as Readonly<Record<string, Json>>;
    for (const route of routeTable())
      expect(paths[route.path]?.[route.method.toLowerCase()], `${route.method} ${route.path}`).toBeDefined();
    const references = [...JSON.stringify(body).matchAll(/"#\/components\/schemas\/([A-Za-z]+)"/g)].map(
      (match) => match[1],
    );
    const schemas = (body['components'] as { schemas: Json }).schemas;
    expect(references.filter((name) => !Object.hasOwn(schemas, String(name)))).toEqual([]);
  });

  it('answer health without a credential, metrics to the platform, and name a tenant in metrics alone, by its slug', async () => {
    const health = await call('GET', '/healthz', { token: null });
    expect(health.body).toMatchObject({
      status: 'ok',
      store: { kind: 'sqlite', connected: true },
      secrets: { sealed: false },
    });
    const metrics = await call('GET', '/metrics', { token: plane.adminToken });
    expect(metrics.text).toContain('berth_http_requests_total');
    for (const text of [metrics.text, health.text]) expect(text).not.toContain(shop.id);
    expect(health.text).not.toContain('"shop"');
  });

  it('say which roles may do what the role of the credential may not', async () => {
    const refusal = await call('PUT', '/api/v1/secrets/resources/db', {
      token: shop.tokens.viewer,
      body: { values: { a: 'b' } },
    });
    expect([refusal.body['code'], refusal.body['expected']]).toEqual([
      'role_forbidden',
      'a credential with a role that permits the operation: platform-admin, tenant-admin, secret-writer',
    ]);
  });

  it('have a page for every code', async () => {
    for (const code of Object.keys(CATALOGUE)) {
      const page = await call('GET', `/docs/errors/${code}`, { token: null, laws: false });
      expect(page.status, code).toBe(200);
      expect(page.text).toContain(code);
    }
  });
});

/** Last: the laws do not read a store of this size again for every request. */
describe('10,000 deployments in one tenant', () => {
  const TOTAL = 10_000;

  it('are listed in pages, and one is read as quickly as among ten', { timeout: 120_000 }, async () => {
    const tenant = await plane.tenant('large');
    const token = tenant.tokens['tenant-admin'];
    const read = async (): Promise<number> => {
      const times: number[] = [];
      for (let turn = 0; turn < 300; turn += 1)
        times.push((await call('GET', `${DEPLOYMENTS}/d-00005`, { token, laws: false })).ms);
      return times.sort((a, b) => a - b)[150] ?? 0;
    };
    const made = await call('POST', DEPLOYMENTS, {
      body: { name: 'd-template', image: pushed.image, replicas: 0 },
      token,
    });
    expect(made.status).toBe(201);
    const store = plane.store.forTenant(tenant.id);
    const template = store.get('deployments', 'd-template')?.record as DeploymentRecord;
    const plant = async (from: number, to: number): Promise<void> => {
      const transaction = store.transaction();
      for (let index = from; index < to; index += 1) {
        const name = `d-${String(index).padStart(5, '0')}`;
        transaction.put('deployments', idOf('deployments', name), {
          ...template,
          id: `dep_${index}` as DeploymentRecord['id'],
          spec: { ...template.spec, name },
        });
      }
      await store.commit(transaction);
    };
    await plant(0, 10);
    const few = await read();
    for (let from = 10; from < TOTAL; from += 500) await plant(from, Math.min(TOTAL, from + 500));
    const many = await read();
    const names = new Set<string>();
    let pages = 0;
    let path: string | undefined = `${DEPLOYMENTS}?limit=1000`;
    let last = '';
    while (path !== undefined) {
      const answer = await call('GET', path, { token, laws: false });
      expect(answer.status).toBe(200);
      for (const deployment of answer.list) {
        const name = String(deployment['name']);
        expect(name > last).toBe(true);
        last = name;
        names.add(name);
      }
      pages += 1;
      path = /<([^>]+)>; rel="next"/.exec(String(answer.headers['link'] ?? ''))?.[1];
    }
    expect(names.size).toBe(TOTAL + 1);
    expect(pages).toBe(11);
    console.log(
      `median read among 10: ${few.toFixed(2)} ms, among 10,000: ${many.toFixed(2)} ms; ${pages} pages`,
    );
  });
});
