import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Json } from '../support/harness/api-client.ts';
import { signingKey, signSimply, signWithBundle } from '../support/harness/cosign.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
let shop: TestTenant;
let registry: Registry;
const key = signingKey();
let count = 0;

beforeAll(async () => {
  [plane, registry] = await Promise.all([startControlPlane(), startRegistry()]);
  shop = await plane.tenant('shop');
  await demand([{ images: `${registry.host}/acme/*`, keys: [key.pem] }]);
});
afterAll(async () => {
  await plane.close();
  await registry.stop();
});

const PATH = '/api/v1/tenants/shop/image-policy';
const setPolicy = (body: Json, token = shop.tokens['tenant-admin']) => plane.api.put(PATH, body, { token });

async function demand(signatures: readonly Json[]): Promise<Answer> {
  const answer = await setPolicy({ signatures });
  expect(answer.status, answer.text).toBe(200);
  return answer;
}

interface Pushed {
  readonly repository: string;
  readonly image: string;
  readonly digest: string;
}

async function push(repository = `acme/r${(count += 1)}`, platforms?: readonly string[]): Promise<Pushed> {
  const content = { busybox: false, env: [`N=${(count += 1)}`], ...(platforms && { platforms }) };
  const { digest, reference } = await pushImage(registry, `${repository}:1`, content);
  return { repository, image: reference, digest };
}

const deploy = (image: string, more: Json = {}) =>
  plane.api.post(
    '/api/v1/deployments',
    { name: `d-${(count += 1)}`, image, ...more },
    { token: shop.tokens.deployer },
  );
const put = (name: unknown, body: Json) =>
  plane.api.put(`/api/v1/deployments/${String(name)}`, body, { token: shop.tokens.deployer });
const refusal = ({ status, body }: Answer) => [status, body['code'], body['field']];

describe('an image that a policy covers', () => {
  it.each(['ec', 'ed25519', 'rsa'] as const)(
    'runs with a signature by an %s key, in both forms',
    async (kind) => {
      const own = signingKey(kind);
      await demand([{ images: `${registry.host}/acme/*`, keys: [signingKey().pem, own.pem] }]);
      for (const sign of [signSimply, signWithBundle]) {
        const { repository, image, digest } = await push();
        expect(refusal(await deploy(image))).toEqual([422, 'image_unsigned', 'image']);
        await sign(registry, { repository, beside: digest, key: own });
        const answer = await deploy(image);
        expect(answer.status, answer.text).toBe(201);
        expect(answer.body['imageDigest']).toBe(digest);
      }
      await demand([{ images: `${registry.host}/acme/*`, keys: [key.pem] }]);
    },
  );

  it('of several platforms runs with a signature of its index', async () => {
    const { repository, image, digest } = await push(undefined, ['linux/amd64', 'linux/arm64']);
    await signSimply(registry, { repository, beside: digest, key });
    expect((await deploy(image)).status).toBe(201);
  });

  it('does not run with a signature by another key, or one that states something else', async () => {
    const { repository, image, digest } = await push();
    await signSimply(registry, { repository, beside: digest, key: signingKey() });
    const answer = await deploy(image);
    expect(refusal(answer)).toEqual([422, 'image_signature_invalid', 'image']);
    const { body } = await plane.api.get(PATH, { token: shop.tokens.viewer });
    const [entry] = body['signatures'] as { fingerprints: string[] }[];
    expect(String(answer.body['why'])).toContain(entry?.fingerprints[0]);
    const other = await push();
    const predicate = 'https://slsa.dev/provenance/v1';
    await signWithBundle(registry, { repository: other.repository, beside: other.digest, key, predicate });
    expect(refusal(await deploy(other.image))).toEqual([422, 'image_unsigned', 'image']);
  });

  it('has no key back that it refuses', async () => {
    const sent = { signatures: [{ images: '*', keys: ['no key'] }] };
    const answer = await plane.api.put(PATH, sent, { token: shop.tokens['tenant-admin'] });
    expect(answer.body).toMatchObject({
      code: 'image_policy_invalid',
      field: 'signatures[0].keys[0]',
      received: '(redacted, string, 6 bytes)',
    });
  });

  it('is refused while the registry is away, and accepted with a warning where no policy covers it', async () => {
    await demand([{ images: '127.0.0.1:1/acme/*', keys: [key.pem] }]);
    expect(refusal(await deploy('127.0.0.1:1/acme/web:1'))).toEqual([
      503,
      'image_signature_unverifiable',
      'image',
    ]);
    expect((await deploy('127.0.0.1:1/other/web:1')).status).toBe(201);
    await demand([{ images: `${registry.host}/acme/*`, keys: [key.pem] }]);
  });

  it('has to meet every entry that covers it', async () => {
    const second = signingKey();
    const { repository, image, digest } = await push();
    await signSimply(registry, { repository, beside: digest, key });
    await demand([
      { images: `${registry.host}/acme/*`, keys: [key.pem] },
      { images: '*', keys: [second.pem] },
    ]);
    expect(refusal(await deploy(image))).toEqual([422, 'image_signature_invalid', 'image']);
    await signWithBundle(registry, { repository, beside: digest, key: second });
    expect((await deploy(image)).status).toBe(201);
    await demand([{ images: `${registry.host}/acme/*`, keys: [key.pem] }]);
  });

  it('is looked at by jobs, canaries and rollbacks', async () => {
    const { image } = await push();
    const job = { name: 'task', image, schedule: '0 0 1 1 *' };
    const token = shop.tokens.deployer;
    expect(refusal(await plane.api.post('/api/v1/jobs', job, { token }))[1]).toBe('image_unsigned');
    const good = await push();
    await signSimply(registry, { repository: good.repository, beside: good.digest, key });
    const made = await deploy(good.image, { name: 'seams' });
    expect(made.status, made.text).toBe(201);
    const canary = await plane.api.post('/api/v1/deployments/seams/canary', { image }, { token });
    expect(refusal(canary)[1]).toBe('image_unsigned');
    await demand([]);
    expect((await put('seams', { image })).status).toBe(200);
    expect((await put('seams', { image: good.image })).status).toBe(200);
    await demand([{ images: `${registry.host}/acme/*`, keys: [key.pem] }]);
    const back = (version: number) =>
      plane.api.post('/api/v1/deployments/seams/rollback', { version }, { token });
    expect(refusal(await back(2))[1]).toBe('image_unsigned');
    expect((await back(1)).status).toBe(200);
  });

  it('that was admitted before is scaled and stopped; one without a digest is only stopped', async () => {
    await demand([]);
    const { image } = await push();
    const pinned = (await deploy(image)).body['name'];
    const loose = (await deploy('127.0.0.1:1/acme/web:1')).body['name'];
    await demand([{ images: '*', keys: [key.pem] }]);
    expect((await put(pinned, { replicas: 2 })).status).toBe(200);
    expect(refusal(await put(pinned, { image }))[1]).toBe('image_unsigned');
    expect(refusal(await put(loose, { replicas: 2 }))[1]).toBe('image_signature_unverifiable');
    expect((await put(loose, { replicas: 0 })).status).toBe(200);
    expect((await put(pinned, { image, replicas: 0 })).status).toBe(200);
    await demand([{ images: `${registry.host}/acme/*`, keys: [key.pem] }]);
  });
});

describe('the policy', () => {
  it('is set by an administrator of the tenant, read by its members, and in the audit', async () => {
    for (const role of ['deployer', 'secret-writer', 'viewer'] as const)
      expect((await setPolicy({ signatures: [] }, shop.tokens[role])).body['code']).toBe('role_forbidden');
    const stranger = await plane.tenant('stranger');
    const foreign = await setPolicy({ signatures: [] }, stranger.tokens['tenant-admin']);
    expect(foreign.body['code']).toBe('tenant_forbidden');
    const read = await plane.api.get(PATH, { token: shop.tokens.viewer });
    expect(read.body['signatures']).toMatchObject([{ images: `${registry.host}/acme/*` }]);
    const etag = String(read.headers['etag']);
    const guarded = (ifMatch: string) =>
      plane.api.put(
        PATH,
        { signatures: [] },
        {
          token: shop.tokens['tenant-admin'],
          headers: { 'if-match': ifMatch },
        },
      );
    expect((await guarded('"1"')).body['code']).toBe('revision_mismatch');
    const cleared = await guarded(etag);
    expect(cleared.body['removed']).toEqual([`signatures[${registry.host}/acme/*]`]);
    const audit = await plane.api.get('/api/v1/audit', { token: shop.tokens['tenant-admin'] });
    expect(audit.list.some(({ action }) => action === 'tenant.image_policy_set')).toBe(true);
  });
});
