import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Caller, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';

const IMAGE = '127.0.0.1:1/shop/web:1.4.2';

let plane: ControlPlane;
let shop: Caller;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = (await plane.tenant('shop')).call;
});
afterAll(() => plane.close());

const allow = (records: object) => plane.admin('PUT', '/api/v1/tenants/shop/quota', { records });
const create = (name: string) => shop('POST', '/api/v1/deployments', { name, image: IMAGE });
const change = (name: string, value: number) =>
  shop('PUT', `/api/v1/deployments/${name}`, { environment: { VALUE: String(value) } });
const remove = (name: string) => shop('DELETE', `/api/v1/deployments/${name}`);

async function versions(name: string): Promise<readonly number[]> {
  const { body } = await shop('GET', `/api/v1/archives/deployments/${name}`);
  return Array.isArray(body) ? body.map(({ version }: { readonly version: number }) => version) : [];
}

async function trimmed(): Promise<readonly string[]> {
  const { body } = await shop('GET', '/api/v1/events?limit=1000');
  return (body as readonly { kind: string; subject: { name: string } }[])
    .filter(({ kind }) => kind === 'archive.trimmed')
    .map(({ subject }) => subject.name);
}

async function used(): Promise<number> {
  const { body } = await shop('GET', '/api/v1/tenants/shop');
  return body.usage.records.archives.used as number;
}

it('deployments that come and go are never refused for the history that they leave', async () => {
  await allow({ archives: 8 });
  for (let at = 0; at < 8; at += 1) {
    expect((await create(`app-${at}`)).status, `create ${at}`).toBe(201);
    expect((await remove(`app-${at}`)).status, `delete ${at}`).toBe(200);
  }
  expect(await used()).toBeLessThanOrEqual(9);
  // Oldest deletion first; a name without history begins anew.
  expect(await versions('app-7')).toEqual([1, 2]);
  expect([...new Set(await trimmed())].toSorted()).toEqual(['app-0', 'app-1', 'app-2', 'app-3']);
  expect((await create('app-0')).status).toBe(201);
  expect(await versions('app-0')).toEqual([1]);
  await remove('app-0');
});

it('then living ones lose their oldest, down to 16, and only then a write is refused', async () => {
  await allow({ archives: 35 });
  for (const name of ['one', 'two']) {
    await create(name);
    for (let at = 0; at < 17; at += 1) expect((await change(name, at)).status, `${name} ${at}`).toBe(200);
  }
  expect((await versions('one')).at(0)).toBe(2);
  let refused;
  for (let at = 0; at < 9 && refused === undefined; at += 1) {
    const { status, body } = await create(`more-${at}`);
    if (status !== 201) refused = { at, code: body.code, field: body.field, why: String(body.why) };
  }
  expect(refused).toMatchObject({ at: 3, code: 'quota_exceeded', field: 'quota.records.archives' });
  expect(refused?.why).toContain('nothing more can go');
  expect([(await versions('one')).length, (await versions('two')).length]).toEqual([16, 16]);
  // A deletion is taken and makes room.
  expect((await remove('two')).status).toBe(200);
  expect((await create('more-3')).status).toBe(201);
  expect([(await versions('one')).length, (await versions('two')).length]).toEqual([16, 15]);
});

it('what is used of a quota is told with how a tenant stands, in a list where it is asked for', async () => {
  const { body } = await shop('GET', '/api/v1/tenants/shop');
  expect(body.standing).toMatchObject({
    deployments: { total: 5, running: 0 },
    nodes: { total: 0, ready: 0 },
    attention: { deployments: 5, nodes: 0, jobs: 0, volumes: 0 },
  });
  expect(body.standing.quota).toContainEqual({
    resource: 'records.archives',
    used: body.usage.records.archives.used,
    limit: 35,
    own: true,
  });
  const listed = (await plane.admin('GET', '/api/v1/tenants?standing=true')).body;
  expect(listed.find(({ slug }: { slug: string }) => slug === 'shop').standing).toEqual(body.standing);
  expect((await plane.admin('GET', '/api/v1/tenants')).body[0].standing).toBeUndefined();
  expect((await plane.admin('GET', '/api/v1/tenants?standing=yes')).body.code).toBe(
    'query_parameter_invalid',
  );
});

it('a quota that is lowered is reached by and by, without a refusal', async () => {
  await allow({ archives: 22 });
  expect((await change('one', 100)).status).toBe(200);
  expect(await used()).toBeLessThanOrEqual(22);
});

it('an order for instances is no history, and is not refused for what there is of it', async () => {
  await allow({ archives: 100 });
  expect((await create('ordered')).status).toBe(201);
  expect((await plane.admin('PUT', '/api/v1/tenants/shop/quota', { bytes: { archives: 1 } })).status).toBe(
    200,
  );
  const before = await versions('ordered');
  for (let at = 0; at < 3; at += 1)
    expect((await shop('POST', '/api/v1/deployments/ordered/restart')).status, `restart ${at}`).toBe(200);
  expect(await versions('ordered')).toEqual(before);
});
