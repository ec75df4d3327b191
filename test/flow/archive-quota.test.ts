import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Caller, type ControlPlane, startControlPlane } from '../support/control-plane.ts';

const IMAGE = '127.0.0.1:1/shop/web:1.4.2';
const MOST = 40;

let plane: ControlPlane;
let shop: Caller;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = (await plane.tenant('shop')).call;
  await plane.admin('PUT', '/api/v1/tenants/shop/quota', { records: { archives: MOST } });
});
afterAll(() => plane.close());

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
  for (let at = 0; at < MOST; at += 1) {
    expect((await create(`app-${at}`)).status, `create ${at}`).toBe(201);
    expect((await remove(`app-${at}`)).status, `delete ${at}`).toBe(200);
  }
  expect(await used()).toBeLessThanOrEqual(MOST + 1);
  // Oldest deletion first; a name without history begins anew.
  expect(await versions('app-0')).toEqual([]);
  expect(await versions(`app-${MOST - 1}`)).toEqual([1, 2]);
  const told = await trimmed();
  expect(new Set(told)).toEqual(new Set(Array.from({ length: MOST / 2 }, (_, at) => `app-${at}`)));
  expect((await create('app-0')).status).toBe(201);
  expect(await versions('app-0')).toEqual([1]);
  await remove('app-0');
});

it('then living ones lose their oldest, down to 16, and only then a write is refused', async () => {
  for (const name of ['one', 'two']) {
    await create(name);
    for (let at = 0; at < 19; at += 1) expect((await change(name, at)).status, `${name} ${at}`).toBe(200);
  }
  expect((await create('three')).status).toBe(201);
  expect((await versions('one')).at(0)).toBe(2);
  let refused;
  for (let at = 0; at < 20 && refused === undefined; at += 1) {
    const { status, body } = await create(`more-${at}`);
    if (status !== 201) refused = { at, code: body.code, field: body.field, why: String(body.why) };
  }
  expect(refused).toMatchObject({ at: 7, code: 'quota_exceeded', field: 'quota.records.archives' });
  expect(refused?.why).toContain('nothing more can go');
  expect([(await versions('one')).length, (await versions('two')).length]).toEqual([16, 16]);
  // Another refusal takes nothing away, and a deletion is taken and makes room.
  expect((await create('more-7')).body.code).toBe('quota_exceeded');
  expect((await remove('two')).status).toBe(200);
  expect((await create('more-7')).status).toBe(201);
  expect((await versions('two')).length).toBeLessThan(17);
  expect((await versions('one')).length).toBe(16);
});

it('a quota that is lowered is reached by and by, without a refusal', async () => {
  await plane.admin('PUT', '/api/v1/tenants/shop/quota', {});
  for (let at = 0; at < 30; at += 1) await create(`short-${at}`);
  for (let at = 0; at < 30; at += 1) await remove(`short-${at}`);
  await plane.admin('PUT', '/api/v1/tenants/shop/quota', { records: { archives: MOST } });
  expect((await change('one', 100)).status).toBe(200);
  for (let at = 0; at < 4; at += 1) expect((await change('one', at)).status).toBe(200);
  expect(await used()).toBeLessThanOrEqual(MOST);
});
