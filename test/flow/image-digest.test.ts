import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Alteration, Warning } from '../../src/core/model/announcement.ts';
import { idOf } from '../../src/server/store/record-ids.ts';
import type { Answer, Json } from '../support/harness/api-client.ts';
import { deleteManifest, pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
let shop: TestTenant;
let registry: Registry;

beforeAll(async () => {
  [plane, registry] = await Promise.all([startControlPlane(), startRegistry()]);
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  await plane.close();
  await registry.stop();
});

const deployer = () => ({ token: shop.tokens.deployer });

/** Another build under the same tag. */
async function push(tag: string, build: number): Promise<string> {
  return (await pushImage(registry, tag, { busybox: false, env: [`BUILD=${build}`] })).digest;
}

async function accepted(answer: Promise<Answer>): Promise<Json> {
  const got = await answer;
  expect(got.status, got.text).toBeLessThan(300);
  return got.body;
}

const create = (body: Json) => accepted(plane.api.post('/api/v1/deployments', body, deployer()));
const put = (name: string, body: Json) =>
  accepted(plane.api.put(`/api/v1/deployments/${name}`, body, deployer()));
const read = async (name: string) => (await plane.api.get(`/api/v1/deployments/${name}`, deployer())).body;

const codes = (body: Json) => (body['warnings'] as Warning[]).map(({ code }) => code);
const announced = (body: Json) =>
  (body['alterations'] as Alteration[]).find(({ field }) => field === 'imageDigest');

/** What an instance of this version is started from. */
function pinned(name: string, body: Json): string | undefined {
  const id = idOf('specs', name, String(body['specHash']));
  return plane.store.forTenant(shop.id).get('specs', id)?.record.imageDigest;
}

describe('the digest that admission saw', () => {
  it('is announced, shown, and stays while the tag moves', async () => {
    const image = `${registry.host}/shop/web:1`;
    const first = await push('shop/web:1', 1);
    const made = await create({ name: 'web', image });
    expect(announced(made)).toMatchObject({ from: '(absent)', to: first });
    expect(made).toMatchObject({ image, imageDigest: first });
    const second = await push('shop/web:1', 2);
    expect(second).not.toBe(first);
    const scaled = await put('web', { replicas: 2 });
    expect(scaled).toMatchObject({ imageDigest: first, specHash: made['specHash'], warnings: [] });
    expect(announced(scaled)).toBeUndefined();
    expect(pinned('web', scaled)).toBe(first);
  });

  it('is asked for again by a write that names the image, which tells that the tag moved', async () => {
    const before = await read('web');
    const moved = await put('web', { image: String(before['image']) });
    const second = String(moved['imageDigest']);
    expect(second).not.toBe(before['imageDigest']);
    expect(codes(moved)).toEqual(['image_tag_moved']);
    expect(announced(moved)).toMatchObject({ from: before['imageDigest'], to: second });
    // Other bytes are another thing to run, although the spec is the same.
    expect(moved['specHash']).not.toBe(before['specHash']);
    expect(pinned('web', moved)).toBe(second);
    expect(pinned('web', before)).toBe(before['imageDigest']);
    const same = await put('web', { image: String(before['image']) });
    expect(same).toMatchObject({ specHash: moved['specHash'], imageDigest: second, warnings: [] });
  });

  it('of an earlier version returns with a rollback', async () => {
    const now = await read('web');
    const back = await accepted(
      plane.api.post('/api/v1/deployments/web/rollback', { version: 1 }, deployer()),
    );
    expect(back['imageDigest']).not.toBe(now['imageDigest']);
    expect(codes(back)).toEqual([]);
    expect(pinned('web', back)).toBe(back['imageDigest']);
    const archive = await plane.api.get('/api/v1/archives/deployments/web', deployer());
    expect(archive.list[0]?.['imageDigest']).toBe(back['imageDigest']);
    // The tag itself is what it was seen to be at the last write that named it.
    const again = await put('web', { image: String(now['image']) });
    expect(again['imageDigest']).toBe(now['imageDigest']);
    expect(codes(again)).toEqual(['image_tag_moved']);
  });

  it('that is gone from the registry refuses the rollback, and says what to do', async () => {
    const image = `${registry.host}/shop/gone:1`;
    const first = await push('shop/gone:1', 1);
    await create({ name: 'gone', image });
    await push('shop/gone:1', 2);
    await put('gone', { image });
    await deleteManifest(registry, 'shop/gone', first);
    const refused = await plane.api.post('/api/v1/deployments/gone/rollback', { version: 1 }, deployer());
    expect(refused.body).toMatchObject({ code: 'image_not_found', field: 'image' });
    expect(String(refused.body['why'])).toContain(first);
  });

  it('is that of a canary until it is promoted, and of its backup', async () => {
    const image = `${registry.host}/shop/bird:1`;
    const first = await push('shop/bird:1', 1);
    await create({ name: 'bird', image });
    const second = await push('shop/bird:1', 2);
    const canary = await accepted(
      plane.api.post('/api/v1/deployments/bird/canary', { image, replicas: 1 }, deployer()),
    );
    expect(canary).toMatchObject({ imageDigest: second });
    expect(codes(canary)).toEqual(['image_tag_moved']);
    const backup = await accepted(plane.api.post('/api/v1/backups', { deploymentName: 'bird' }, deployer()));
    expect(backup['content']).toMatchObject({ imageDigest: first, canary: { imageDigest: second } });
    await push('shop/bird:1', 3);
    const promoted = await accepted(
      plane.api.post('/api/v1/deployments/bird/canary/promote', undefined, deployer()),
    );
    expect(promoted).toMatchObject({ imageDigest: second, specHash: canary['specHash'] });
    const restored = await accepted(
      plane.api.post(`/api/v1/backups/${String(backup['id'])}/restore`, undefined, deployer()),
    );
    expect(restored).toMatchObject({ imageDigest: first });
    expect((await read('bird'))['status']).toMatchObject({ canary: { imageDigest: second } });
    const document = await plane.api.get(`/api/v1/backups/${String(backup['id'])}/export`, deployer());
    await accepted(plane.api.post('/api/v1/backups/import', document.body, deployer()));
  });

  it('belongs to a job as well, and to a digest that was written nothing is added', async () => {
    const digest = await push('shop/task:1', 1);
    const job = { name: 'task', image: `${registry.host}/shop/task:1`, schedule: '0 0 1 1 *' };
    const made = await accepted(plane.api.post('/api/v1/jobs', job, deployer()));
    expect(made).toMatchObject({ imageDigest: digest });
    expect(announced(made)).toMatchObject({ to: digest });
    const exact = await create({ name: 'exact', image: `${registry.host}/shop/task@${digest}` });
    expect(exact).toMatchObject({ imageDigest: digest });
    expect(announced(exact)).toBeUndefined();
  });
});

describe('a registry that does not answer', () => {
  it('leaves the digest out of a new image, and as it was for the same one', async () => {
    const away = await create({ name: 'away', image: '127.0.0.1:1/shop/web:1' });
    expect(codes(away)).toEqual(['registry_unreachable']);
    expect(away).not.toHaveProperty('imageDigest');
    const own = await startRegistry();
    const pushed = await pushImage(own, 'shop/web:1', { busybox: false });
    const made = await create({ name: 'cut', image: pushed.reference });
    await own.stop();
    const same = await put('cut', { image: pushed.reference, replicas: 3 });
    expect(same).toMatchObject({ imageDigest: pushed.digest, specHash: made['specHash'], warnings: [] });
    const other = await put('cut', { image: `${own.host}/shop/web:2` });
    expect(other).not.toHaveProperty('imageDigest');
    expect(announced(other)).toMatchObject({ from: pushed.digest, to: '(absent)' });
  });

  it('and is back replaces nothing when the digest becomes known', async () => {
    const image = `${registry.host}/shop/late:1`;
    const digest = await push('shop/late:1', 1);
    const made = await create({ name: 'late', image });
    // As a record of a time when no digest was kept.
    const tenant = plane.store.forTenant(shop.id);
    const stored = tenant.get('deployments', 'late');
    const { imageDigest: _gone, seenImages: _none, ...record } = stored?.record ?? {};
    const old = tenant
      .transaction()
      .put('deployments', 'late', record as NonNullable<typeof stored>['record'])
      .put('specs', idOf('specs', 'late', String(made['specHash'])), (record as { spec: never }).spec);
    await tenant.commit(old);
    const scaled = await put('late', { replicas: 2 });
    expect(scaled).not.toHaveProperty('imageDigest');
    expect(scaled['specHash']).toBe(made['specHash']);
    const known = await put('late', { image });
    expect(known).toMatchObject({ imageDigest: digest, specHash: made['specHash'], warnings: [] });
  });
});
