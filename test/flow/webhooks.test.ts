import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/server/config.ts';
import { makeBackup } from '../../src/server/recovery/backup.ts';
import { migrateStore } from '../../src/server/recovery/migrate.ts';
import { restoreBackup } from '../../src/server/recovery/restore.ts';
import { eventually } from '../support/eventually.ts';
import { startEtcd } from '../support/harness/etcd.ts';
import type { Json } from '../support/harness/api-client.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  readonly id: string;
}

/** A receiver that answers each path as it is told to. */
class Receiver {
  readonly got: Received[] = [];
  answers = new Map<string, { readonly status: number; readonly headers?: Record<string, string> }>();
  #server: Server | undefined;
  port = 0;

  async open(): Promise<void> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (part: Buffer) => (body += part.toString()));
      request.on('end', () => {
        const path = request.url ?? '';
        const { status, headers = {} } = this.answers.get(path) ?? { status: 204 };
        if (status < 300)
          this.got.push({ path, headers: request.headers, body, id: String(JSON.parse(body).id) });
        response.writeHead(status, headers).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async close(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  ids(path: string): readonly string[] {
    return this.got.filter((one) => one.path === path).map(({ id }) => id);
  }
}

const KEY = 'a key of sixteen or more characters';
const receiver = new Receiver();
const dataDir = mkdtempSync(join(tmpdir(), 'berth-webhooks-'));
let plane: ControlPlane;
let shop: TestTenant;

const start = (folder = dataDir, config: Readonly<Record<string, unknown>> = {}) =>
  startControlPlane({
    dataDir: folder,
    config: { 'webhooks.allowPrivate': [`http://127.0.0.1:${receiver.port}`], ...config },
  });

beforeAll(async () => {
  await receiver.open();
  plane = await start();
  shop = await plane.tenant('shop');
  const written = await call('PUT', '/secrets/resources/hooks', { values: { key: KEY } }, 'tenant-admin');
  expect(written.status, written.text).toBeLessThan(300);
  await make('source', '/source', { paused: true, events: { kinds: ['nothing.at-all'] } });
});
afterAll(async () => {
  await plane.close();
  await receiver.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function call(method: string, path: string, body?: Json, role: keyof TestTenant['tokens'] = 'deployer') {
  return plane.api.call(method, `/api/v1${path}`, {
    token: shop.tokens[role],
    ...(body !== undefined && { body }),
  });
}

async function make(name: string, path: string, more: Json = {}): Promise<void> {
  const url = `http://127.0.0.1:${receiver.port}${path}`;
  const events = { kinds: ['webhook.updated'], subjects: ['Webhook/source'] };
  const body = { name, url, events, signing: { vault_path: 'resources/hooks' }, ...more };
  const answer = await call('POST', '/webhooks', body);
  expect(answer.status, answer.text).toBe(201);
}

/** An event of the tenant, and its id. */
async function event(): Promise<string> {
  const answer = await call('PUT', '/webhooks/source', { paused: true });
  expect(answer.status, answer.text).toBe(200);
  const found = await plane.store.forTenant(shop.id).rangeCold('events', '', { reverse: true, limit: 20 });
  return found.entries.find(({ record }) => record.kind === 'webhook.updated')?.record.id ?? '';
}

async function events(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) ids.push(await event());
  return ids;
}

const status = async (name: string) => (await call('GET', `/webhooks/${name}`)).body['status'] as Json;

describe('a webhook', () => {
  it('gets each event once, in order, as a CloudEvent with a signature that can be checked', async () => {
    await make('plain', '/plain');
    const ids = await events(20);
    await eventually(
      () => receiver.ids('/plain'),
      (got) => got.length >= ids.length,
    );
    expect(receiver.ids('/plain')).toEqual(ids);
    const [first] = receiver.got.filter(({ path }) => path === '/plain');
    expect(first?.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      specversion: '1.0',
      type: 'io.berth.webhook.updated',
      source: `/tenants/${shop.id}`,
      subject: 'Webhook/source',
      data: { kind: 'webhook.updated', subject: { kind: 'Webhook', name: 'source' } },
    });
    const {
      'webhook-id': id,
      'webhook-timestamp': at,
      'webhook-signature': signature,
    } = first?.headers ?? {};
    expect(id).toBe(ids[0]);
    expect(Math.abs(Date.now() / 1000 - Number(at))).toBeLessThan(60);
    const mac = createHmac('sha256', KEY).update([id, at, first?.body].join('.')).digest('base64');
    expect(signature).toBe(`v1,${mac}`);
    // It is stored after the receiver has taken it.
    const done = await eventually(
      () => status('plain'),
      ({ pending }) => pending === 0,
    );
    expect(done).toMatchObject({ state: 'active', lastSuccess: { code: 204 } });
  });

  it('loses nothing and keeps the order while the receiver fails, goes away and comes back', async () => {
    await make('away', '/away');
    receiver.answers.set('/away', { status: 500 });
    const ids = [...(await events(2))];
    await eventually(
      () => status('away'),
      ({ state }) => state === 'failing',
    );
    expect(await status('away')).toMatchObject({
      lastFailure: { code: 500, reason: 'HTTP 500', event: ids[0] },
    });
    await receiver.close();
    ids.push(...(await events(2)));
    receiver.answers.set('/away', { status: 200 });
    await receiver.open();
    // Written again: the next attempt is not waited for.
    await call('PUT', '/webhooks/away', { paused: false });
    await eventually(
      () => receiver.ids('/away'),
      (got) => got.length >= 4,
    );
    expect(receiver.ids('/away')).toEqual(ids);
    expect(
      await eventually(
        () => status('away'),
        ({ pending }) => pending === 0,
      ),
    ).toMatchObject({ state: 'active' });
  });

  it('waits as long as 429 asks for, and sends nothing more after 410 until it is written again', async () => {
    await make('busy', '/busy');
    receiver.answers.set('/busy', { status: 429, headers: { 'retry-after': '300' } });
    const id = await event();
    const { nextAttemptAt } = await eventually(
      () => status('busy'),
      ({ state }) => state === 'failing',
    );
    expect(Date.parse(String(nextAttemptAt)) - Date.now()).toBeGreaterThan(280_000);
    receiver.answers.set('/busy', { status: 410 });
    await call('PUT', '/webhooks/busy', { paused: false });
    await eventually(
      () => status('busy'),
      ({ state }) => state === 'gone',
    );
    receiver.answers.set('/busy', { status: 200 });
    expect(receiver.ids('/busy')).toEqual([]);
    await call('PUT', '/webhooks/busy', { paused: false });
    await eventually(
      () => receiver.ids('/busy'),
      (got) => got.length > 0,
    );
    expect(receiver.ids('/busy')).toEqual([id]);
  });

  it('holds events while it is paused, over a restart of the control plane', async () => {
    await make('paused', '/paused', { paused: true });
    const ids = await events(3);
    await plane.close();
    plane = await start();
    shop = await plane.tenant('shop');
    expect(receiver.ids('/paused')).toEqual([]);
    await call('PUT', '/webhooks/paused', { paused: false });
    await eventually(
      () => receiver.ids('/paused'),
      (got) => got.length >= 3,
    );
    expect(receiver.ids('/paused')).toEqual(ids);
  });

  it('says that it has no signing key, and sends nothing unsigned', async () => {
    await make('unsigned', '/unsigned', { signing: { vault_path: 'resources/nowhere' } });
    await event();
    const { lastFailure } = await eventually(
      () => status('unsigned'),
      ({ state }) => state === 'failing',
    );
    expect(String((lastFailure as Json)['reason'])).toContain('resources/nowhere');
    expect(receiver.ids('/unsigned')).toEqual([]);
  });

  it('warns while its signing key is not there, whichever way it is written', async () => {
    const signing = { vault_path: 'resources/later', key: 'hmac' };
    const url = 'https://hooks.example.com';
    const document = { kind: 'Webhook', name: 'early', url, signing, paused: true };
    const told = ({ body }: { readonly body: Json }) =>
      (body['warnings'] as readonly Json[]).map(({ code, field }) => [code, field]);
    const planned = async (documents: readonly Json[]) => {
      const { body } = await call('POST', '/apply?dryRun=true', documents as unknown as Json, 'tenant-admin');
      return (body['documents'] as readonly Json[]).flatMap((one) => told({ body: one }));
    };
    const secret = (keys: readonly string[]) => ({
      kind: 'Secret',
      namespace: 'resources',
      name: 'later',
      generate: { keys },
    });
    const missing = [['secret_missing', 'signing.vault_path']];
    const keyMissing = [['secret_key_missing', 'signing.key']];
    expect(await planned([document])).toEqual(missing);
    expect(await planned([document, secret(['other'])])).toEqual(keyMissing);
    expect(await planned([document, secret(['hmac'])])).toEqual([]);
    expect(told(await call('POST', '/webhooks?dryRun=true', document))).toEqual(missing);
    expect(told(await call('POST', '/webhooks', document))).toEqual(missing);
    const write = (values: Json) => call('PUT', '/secrets/resources/later', { values }, 'tenant-admin');
    expect((await write({ other: KEY })).status).toBeLessThan(300);
    expect(told(await call('PUT', '/webhooks/early', { paused: true }))).toEqual(keyMissing);
    expect((await write({ hmac: KEY })).status).toBeLessThan(300);
    expect(told(await call('PUT', '/webhooks/early', { paused: true }))).toEqual([]);
    expect((await call('DELETE', '/webhooks/early')).status).toBe(200);
  });

  it('never shows or stores the key', async () => {
    const { entries } = await plane.store.kv.range('');
    expect(entries.filter(({ value }) => value.includes(KEY))).toEqual([]);
    expect((await call('GET', '/webhooks/plain')).text).not.toContain(KEY);
    expect(plane.logs.filter((line) => line.includes(KEY))).toEqual([]);
  });

  it('is read by viewers, written by deployers, and not there for strangers', async () => {
    expect((await call('GET', '/webhooks', undefined, 'viewer')).status).toBe(200);
    expect((await call('PUT', '/webhooks/plain', { paused: true }, 'viewer')).status).toBe(403);
    expect((await call('POST', '/webhooks/plain/redeliver', {}, 'viewer')).status).toBe(403);
    const other = await plane.tenant('bank');
    const token = other.tokens['tenant-admin'];
    const asked = ['', '/dead-letters'].map((path) =>
      plane.api.call('GET', `/api/v1/webhooks/plain${path}`, { token }),
    );
    expect((await Promise.all(asked)).map(({ status: code }) => code)).toEqual([404, 404]);
  });

  it('counts its attempts', async () => {
    const metrics = await plane.api.call('GET', '/metrics', { token: plane.adminToken });
    expect(metrics.text).toMatch(/berth_webhook_deliveries_total\{outcome="delivered"\} [1-9]/);
  });

  it('goes on where it was in a store that moved to etcd, and in one that was restored from a backup', async () => {
    const etcd = await startEtcd();
    onTestFinished(() => etcd.stop());
    await make('moved', '/moved');
    const sent = [...(await events(2))];
    const received = () =>
      eventually(
        () => receiver.ids('/moved'),
        (got) => got.length >= sent.length,
      );
    await received();
    // More than is held in memory: the order is that of the journal.
    receiver.answers.set('/moved', { status: 503 });
    sent.push(...(await events(70)));
    const { config: before } = plane;
    await plane.close();
    const store = {
      BERTH_STORE_KIND: 'etcd',
      BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(),
      BERTH_STORE_ETCD_PREFIX: '/moved/',
    };
    await migrateStore(before, loadConfig(['--data-dir', dataDir], store));
    plane = await start(dataDir, {
      'store.kind': 'etcd',
      'store.etcd.endpoints': etcd.endpoints,
      'store.etcd.prefix': '/moved/',
    });
    shop = await plane.tenant('shop');
    receiver.answers.delete('/moved');
    // Written, it is tried at once.
    await call('PUT', '/webhooks/moved', { paused: false });
    expect(await received()).toEqual(sent);
    sent.push(await event());
    expect(await received()).toEqual(sent);

    // Acknowledged after the backup, and so sent again by the restored one, by the same id; what was published since is lost with the store.
    receiver.answers.set('/moved', { status: 503 });
    const held = await events(3);
    const passphrase = 'a passphrase of this test';
    const order = { passphrase, signal: new AbortController().signal };
    const to = join(dataDir, 'webhooks.backup');
    await makeBackup({ config: plane.config, to, cost: 1024, ...order });
    receiver.answers.delete('/moved');
    await call('PUT', '/webhooks/moved', { paused: false });
    sent.push(...held, await event());
    expect(await received()).toEqual(sent);
    await plane.close();
    const restored = join(dataDir, 'restored');
    await restoreBackup({ config: loadConfig(['--data-dir', restored], {}), from: to, ...order });
    plane = await start(restored);
    shop = await plane.tenant('shop');
    await call('PUT', '/webhooks/moved', { paused: false });
    sent.push(...held, await event());
    expect(await received()).toEqual(sent);
  });

  it('is applied from a document, and leaves nothing when it is deleted', async () => {
    const document = { kind: 'Webhook', name: 'plain', paused: true };
    const plan = await call('POST', '/apply?dryRun=true', [document] as unknown as Json);
    expect(plan.body['documents']).toMatchObject([{ kind: 'Webhook', action: 'change' }]);
    for (const name of ['plain', 'away', 'busy', 'paused', 'unsigned', 'moved', 'source'])
      expect((await call('DELETE', `/webhooks/${name}`)).status).toBe(200);
    const kinds = ['webhooks', 'webhook-orders', 'webhook-deliveries', 'webhook-dead-letters'];
    await eventually(
      async () =>
        (await plane.store.kv.range('')).entries
          .map(({ key }) => key)
          .filter((key) => kinds.some((kind) => key.includes(`/${kind}/`))),
      (left) => left.length === 0,
    );
  });
});
