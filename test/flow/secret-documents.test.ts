import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import type { TestTenant } from '../support/harness/node-flow.ts';

/** Secret documents by themselves: made from files, listed, deleted. */

let plane: ControlPlane;
let shop: TestTenant;
let count = 0;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
});
afterAll(() => plane.close());

const fresh = (word: string) => `${word}${(count += 1)}`;
const call = (method: string, path: string, body?: object) => shop.call(method, path, body);
const apply = (name: string, generate: object, query = '') =>
  call('POST', `/api/v1/secrets${query}`, { kind: 'Secret', namespace: 'resources', name, generate });
const versionOf = async (name: string) =>
  (await call('GET', `/api/v1/secrets/resources/${name}`)).body.version;

describe('a document of kind Secret', () => {
  it('mints what is missing and leaves alone what exists', async () => {
    const name = fresh('db');
    const planned = await apply(name, { keys: ['password'] }, '?dryRun=true');
    expect([planned.status, planned.body.minted]).toEqual([200, ['password']]);
    expect((await call('GET', `/api/v1/secrets/resources/${name}`)).status).toBe(404);

    const made = await apply(name, { keys: ['password'] });
    expect([made.status, made.body.minted, made.body.version]).toEqual([201, ['password'], 1]);
    const same = await apply(name, { keys: ['password'], length: 64 });
    expect([same.status, same.body.minted, same.body.version]).toEqual([200, [], 1]);
    expect(same.body.alterations).toMatchObject([{ field: 'generate.keys', from: 'password', to: '(kept)' }]);
    const more = await apply(name, { keys: ['password'], pin: { length: 40 } });
    expect([more.status, more.body.minted, more.body.version]).toEqual([200, ['pin'], 2]);
    expect(more.body.keys).toEqual(['password', 'pin']);
    expect(JSON.stringify(more.body)).not.toContain('values');
  });

  it('leaves a typed value alone, and adds to it', async () => {
    const name = fresh('db');
    await call('PUT', `/api/v1/secrets/resources/${name}`, { values: { user: 'app' }, anchor: 'process' });
    const added = await apply(name, { keys: ['user', 'password'] });
    expect([added.body.minted, added.body.keys]).toEqual([['password'], ['password', 'user']]);
    expect(await versionOf(name)).toBe(2);
  });

  it('says all that is wrong with it, and repeats no value', async () => {
    const typed = 'wHx2-typed-by-hand';
    const body = { kind: 'Secret', namespace: 'elsewhere', name: 'db', values: { password: typed } };
    const refused = await call('POST', '/api/v1/secrets', body);
    expect([refused.status, refused.body.code, refused.body.received]).toEqual([
      422,
      'secret_values_in_document',
      '(redacted, object, 33 bytes)',
    ]);
    const all = await call('POST', '/api/v1/secrets?dryRun=true&all=true', body);
    expect(JSON.parse(all.body).rejections.map(({ field }: { field: string }) => field)).toEqual([
      'values',
      'namespace',
      'generate.keys',
    ]);
    expect(JSON.stringify([refused, all])).not.toContain(typed);
  });

  it('is told once by two at the same moment', async () => {
    const name = fresh('db');
    const answers = await Promise.all(Array.from({ length: 8 }, () => apply(name, { keys: ['password'] })));
    expect(answers.map(({ status }: { status: number }) => status).sort()).toEqual([
      ...Array(7).fill(200),
      201,
    ]);
    expect(await versionOf(name)).toBe(1);
  });
});
