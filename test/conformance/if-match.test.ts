import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, CallOptions, Json } from '../support/harness/api-client.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { routeTable } from '../support/route-table.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

/** The ETag carries the record's revision, and If-Match guards every PUT and DELETE. */

/** More than one commit of etcd takes with the node. */
const MANY_NETWORKS = 31;
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
const asPlatform = (): CallOptions => ({ token: shop.tokens['platform-admin'] });
const fresh = (prefix: string) => `${prefix}-${(count += 1)}`;

async function made(method: string, path: string, body: Json, options: CallOptions = {}): Promise<Answer> {
  const answer = await call(method, path, { ...options, body });
  expect([200, 201], answer.text).toContain(answer.status);
  return answer;
}

interface Guarded {
  readonly write: 'PUT' | 'DELETE';
  readonly path: string;
  /** Where the record is read; absent: its ETag is that of the answer to the write that made it. */
  readonly read?: string;
  readonly etag?: unknown;
  readonly body?: Json;
  readonly options?: CallOptions;
  /** The tag is that of the document, which the write does not touch. */
  readonly keepsTag?: true;
}

async function node(): Promise<string> {
  const nodeName = fresh('node');
  const publicKey = generateKeyPairSync('ed25519').publicKey.export({ format: 'der', type: 'spki' });
  await made('POST', '/api/v1/nodes', {
    nodeName,
    capacity: { cpu: 4, memoryBytes: 2 ** 33 },
    publicKey: publicKey.toString('base64'),
    platform: 'linux/amd64',
    engine: { kind: 'docker', version: '20.10' },
    agentVersion: '0.1.0',
  });
  return nodeName;
}

async function tenantRecord(): Promise<string> {
  const slug = fresh('tenant');
  await made('POST', '/api/v1/tenants', { slug }, asPlatform());
  return `/api/v1/tenants/${slug}`;
}

const RECORDS: Readonly<Record<string, () => Promise<Guarded>>> = {
  'a job that is changed': async () => {
    const name = fresh('job');
    const { image } = pushed;
    await made('POST', '/api/v1/jobs', { kind: 'Job', name, image, schedule: '0 3 * * *' });
    const path = `/api/v1/jobs/${name}`;
    return { write: 'PUT', path, read: path, body: { retries: 1 } };
  },
  'a secret document': async () => {
    const path = `/api/v1/secrets/resources/${fresh('db')}`;
    await made('PUT', path, { values: { a: '1' } });
    return { write: 'PUT', path, read: path, body: { values: { a: '2' } } };
  },
  'a secret document that is deleted': async () => {
    const path = `/api/v1/secrets/resources/${fresh('db')}`;
    await made('PUT', path, { values: { a: '1' } });
    return { write: 'DELETE', path, read: path };
  },
  'the hooks of a credential': async () => {
    const read = `/api/v1/secrets/resources/${fresh('db')}`;
    await made('PUT', read, { values: { a: '1' } });
    return { write: 'PUT', path: `${read}/hooks`, read, body: {}, keepsTag: true };
  },
  'a backup': async () => {
    const name = fresh('web');
    await made('POST', '/api/v1/deployments', { name, image: pushed.image, replicas: 0 });
    const { body } = await made('POST', '/api/v1/backups', { deploymentName: name });
    const path = `/api/v1/backups/${String(body['id'])}`;
    return { write: 'DELETE', path, read: path };
  },
  'a token': async () => {
    const answer = await made('POST', '/api/v1/tokens', { name: fresh('ci'), role: 'viewer' });
    const path = `/api/v1/tokens/${String(answer.body['id'])}`;
    return { write: 'DELETE', path, etag: answer.headers.etag };
  },
  'a quota': async () => {
    const read = await tenantRecord();
    return {
      write: 'PUT',
      path: `${read}/quota`,
      read,
      body: { containers: 3 },
      options: asPlatform(),
    };
  },
  'the defaults of containers': async () => {
    const read = await tenantRecord();
    return {
      write: 'PUT',
      path: `${read}/container-defaults`,
      read,
      body: { pids: 512 },
      options: asPlatform(),
    };
  },
  'a tenant': async () => {
    const path = await tenantRecord();
    // The quota is part of what is shown, so a change of it is a change of the tenant.
    await made('PUT', `${path}/quota`, { containers: 3 }, asPlatform());
    return { write: 'DELETE', path, read: path, options: asPlatform() };
  },
  'a node': async () => {
    const path = `/api/v1/nodes/${await node()}`;
    return { write: 'DELETE', path, read: path };
  },
  'a node by force, whose networks go in several commits': async () => {
    const nodeId = await node();
    for (let index = 0; index < MANY_NETWORKS; index += 1)
      await made('POST', '/api/v1/networks', { name: fresh('net'), nodeId });
    return { write: 'DELETE', path: `/api/v1/nodes/${nodeId}?force=true`, read: `/api/v1/nodes/${nodeId}` };
  },
  'a claim': async () => {
    const read = `/api/v1/nodes/${await node()}`;
    return { write: 'DELETE', path: `${read}/claim`, read, options: { tenant: shop.id } };
  },
};

describe('If-Match', () => {
  it.each(Object.keys(RECORDS))('guards %s', async (record) => {
    const {
      write,
      path,
      read,
      etag,
      body,
      options = {},
      keepsTag,
    } = await (RECORDS[record] as () => Promise<Guarded>)();
    const sent = { ...options, ...(body === undefined ? {} : { body }) };
    const shown = read === undefined ? etag : (await call('GET', read, options)).headers.etag;
    expect(shown).toMatch(/^"\d+"$/);
    const late = await call(write, path, { ...sent, headers: { 'if-match': '"999999999"' } });
    expect([late.status, late.body['code'], late.body['expected']]).toEqual([
      412,
      'revision_mismatch',
      shown,
    ]);
    const unread = await call(write, path, { ...sent, headers: { 'if-match': 'newest' } });
    expect([unread.status, unread.body['code']]).toEqual([400, 'header_invalid']);
    const done = await call(write, path, { ...sent, headers: { 'if-match': String(shown) } });
    expect(done.status, done.text).toBe(200);
    if (write === 'PUT') {
      expect((await call('GET', String(read), options)).headers.etag).toBe(done.headers.etag);
      expect(done.headers.etag === shown).toBe(keepsTag === true);
    }
  });

  it('is heeded by every PUT and DELETE of a record', () => {
    const heedless = routeTable().filter(
      ({ method, codes }) => ['PUT', 'DELETE'].includes(method) && !codes.includes('revision_mismatch'),
    );
    // A sign-out ends what the cookie names, and nobody reads it first.
    expect(heedless.map(({ method, path }) => `${method} ${path}`)).toEqual(['DELETE /api/v1/session']);
  });
});
