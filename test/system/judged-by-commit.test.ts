import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../src/core/model/ids.ts';
import { RateLimiter } from '../../src/server/api/rate-limit.ts';
import { EtcdCluster } from '../../src/server/store/etcd/cluster.ts';
import { METHODS } from '../../src/server/store/etcd/messages.ts';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { globalKey, tenantKey } from '../../src/server/store/keys.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { ReadBarrier } from '../../src/server/store/read-barrier.ts';
import { decodeRecord, encodeRecord } from '../../src/server/store/records.ts';
import { inTier } from '../support/fault-tier.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/**
 * A control plane that has its etcd for itself judges a create by its view, and the commit proves that (docs/decisions/0120). Here it hears of every
 * change late, so that a request that follows a change by somebody else is always judged by what was before.
 */

const LATE_MS = 40;
const ROUNDS = inTier({ usual: 5, long: 200 });
const PAIRS = inTier({ usual: 10, long: 200 });

const keys = mkdtempSync(join(tmpdir(), 'berth-keys-'));
let etcd: Etcd;
let registry: PushedImageRegistry;
let kv: Kv;
let late: ControlPlane;
let other: ControlPlane | undefined;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let count = 0;

function settings(): Readonly<Record<string, string>> {
  return {
    BERTH_STORE_KIND: 'etcd',
    BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(','),
    BERTH_RATE_LIMIT_PER_SECOND: '100000',
    BERTH_RATE_LIMIT_BURST: '100000',
    BERTH_KEYS_TOKEN_KEY_FILE: join(keys, 'token.key'),
    BERTH_KEYS_ROOT_KEY_FILE: join(keys, 'root.key'),
    BERTH_REGISTRIES_ALLOW_PRIVATE: registry.config['registries.allowPrivate'].join(','),
  };
}

beforeAll(async () => {
  [etcd, registry] = await Promise.all([startEtcd(), startPushedImage()]);
  kv = await openEtcdKv({ endpoints: etcd.endpoints });
  const open = EtcdCluster.prototype.stream;
  const streams = vi.spyOn(EtcdCluster.prototype, 'stream').mockImplementation(function (
    this: EtcdCluster,
    method,
    request,
    handlers,
  ) {
    if ((method as unknown) !== METHODS.watch) return open.call(this, method, request, handlers);
    const onAnswer: typeof handlers.onAnswer = (answer) =>
      void setTimeout(() => handlers.onAnswer(answer), LATE_MS);
    return open.call(this, method, request, { ...handlers, onAnswer });
  });
  late = await startControlPlane([], settings());
  streams.mockRestore();
  shop = await late.tenant('shop');
});

afterAll(async () => {
  await other?.close();
  await late?.close();
  await kv?.close();
  await registry?.stop();
  await etcd?.stop();
  rmSync(keys, { recursive: true, force: true });
});

function deployment(): { readonly name: string; readonly image: string; readonly replicas: number } {
  return { name: `app-${(count += 1)}`, image: registry.image, replicas: 1 };
}

async function newToken(plane: ControlPlane): Promise<{ readonly id: string; readonly token: string }> {
  const made = await plane.as(shop.token)('POST', '/api/v1/tokens', { name: 'ci', role: 'deployer' });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body as { id: string; token: string };
}

/** As a process writes that no other knows of: with no guard, and not registered. */
async function change(key: string, members: Readonly<Record<string, unknown>> | undefined): Promise<void> {
  const found = await kv.get(key);
  const before = found && decodeRecord<object>(key, found.value);
  if (members === undefined) await kv.commit({ deletes: [key] });
  else await kv.commit({ puts: [{ key, value: encodeRecord({ ...before, ...members }) }] });
}

describe('the only control plane of an etcd', () => {
  it('asks for the newest revision before a read and not before a create', async () => {
    // The history of the tenant is counted when it is first added to.
    expect((await shop.call('POST', '/api/v1/deployments', deployment())).status).toBe(201);
    const asked = vi.spyOn(ReadBarrier.prototype, 'pass');
    let name = '';
    // Beside a commit of its own it asks.
    await vi.waitFor(async () => {
      asked.mockClear();
      const created = await shop.call('POST', '/api/v1/deployments', deployment());
      expect([created.status, asked.mock.calls.length]).toEqual([201, 0]);
      name = String(created.body['name']);
    }, 10_000);
    const read = await shop.call('GET', `/api/v1/deployments/${name}`);
    expect([read.status, asked.mock.calls.length]).toEqual([200, 1]);
    const again = await shop.call('POST', '/api/v1/deployments', deployment(), { 'idempotency-key': 'once' });
    expect([again.status, asked.mock.calls.length]).toEqual([201, 2]);
    asked.mockRestore();
  });

  it('takes no token that was revoked a moment ago', { timeout: ROUNDS * 5_000 }, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { id, token } = await newToken(late);
      const call = late.as(token);
      expect((await call('POST', '/api/v1/deployments', deployment())).status).toBe(201);
      await change(globalKey('tokens', id), { revokedAt: new Date().toISOString() });
      const refused = await call('POST', '/api/v1/deployments', deployment());
      expect([refused.status, refused.body['code']]).toEqual([401, 'unauthenticated']);
    }
  });

  it.each([
    { kind: 'quota', id: 'quota', members: { records: { deployments: 1 } }, code: 'quota_exceeded' },
    {
      kind: 'image-policy',
      id: 'image-policy',
      members: { signatures: [{ images: '*', keys: [] }] },
      code: 'image_unsigned',
    },
  ])('keeps to $kind as it was set a moment ago', async ({ kind, id, members, code }) => {
    const key = tenantKey(tenantId(shop.id), kind, id);
    await change(key, members);
    const refused = await shop.call('POST', '/api/v1/deployments', deployment());
    expect(refused.body['code'], JSON.stringify(refused.body)).toBe(code);
    await change(key, undefined);
    const accepted = await shop.call('POST', '/api/v1/deployments', deployment());
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(201);
  });

  it('counts a version of a name that was deleted a moment ago', async () => {
    const { name, ...rest } = deployment();
    await change(tenantKey(tenantId(shop.id), 'last-versions', name), { version: 7 });
    const created = await shop.call('POST', '/api/v1/deployments', { name, ...rest });
    const stored = late.store.forTenant(tenantId(shop.id)).get('deployments', name);
    expect([created.status, stored?.record.version]).toEqual([201, 8]);
  });

  it('creates nothing for a tenant that is gone', async () => {
    const gone = await late.tenant('gone');
    expect((await gone.call('POST', '/api/v1/deployments', deployment())).status).toBe(201);
    await change(globalKey('tenants', gone.id), undefined);
    expect((await gone.call('POST', '/api/v1/deployments', deployment())).status).toBe(401);
  });

  it('judges what it refuses a second time, as one request', async () => {
    const asked = vi.spyOn(ReadBarrier.prototype, 'pass');
    const counted = vi.spyOn(RateLimiter.prototype, 'retryAfterSeconds');
    const twice = deployment();
    for (const status of [201, 409]) {
      counted.mockClear();
      expect((await shop.call('POST', '/api/v1/deployments', twice)).status).toBe(status);
      expect(counted).toHaveBeenCalledOnce();
    }
    expect(asked).toHaveBeenCalled();
    asked.mockRestore();
    counted.mockRestore();
  });
});

describe('and another one that joins it', () => {
  it('is heard of before anything else is judged', async () => {
    other = await startControlPlane([], settings());
    const { id, token } = await newToken(other);
    const asked = vi.spyOn(ReadBarrier.prototype, 'pass');
    expect((await late.as(token)('POST', '/api/v1/deployments', deployment())).status).toBe(201);
    expect(asked).toHaveBeenCalled();
    asked.mockRestore();
    await other.as(shop.token)('DELETE', `/api/v1/tokens/${id}`);
    expect((await late.as(token)('POST', '/api/v1/deployments', deployment())).status).toBe(401);
  });

  it('revokes tokens that the first one takes no more', { timeout: PAIRS * 5_000 }, async () => {
    if (other === undefined) throw new Error('it is not there');
    for (let pair = 0; pair < PAIRS; pair += 1) {
      const { id, token } = await newToken(other);
      await other.as(shop.token)('DELETE', `/api/v1/tokens/${id}`);
      expect((await late.as(token)('POST', '/api/v1/deployments', deployment())).status).toBe(401);
    }
  });
});
