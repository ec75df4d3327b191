import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
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

  it('stays within its bound, whatever is added to it and by whom', async () => {
    const [name, web] = [fresh('db'), fresh('web')];
    const most = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`V${at}`, 'x'.repeat(65_536)]));
    expect((await call('PUT', `/api/v1/secrets/resources/${name}`, { values: most })).status).toBe(201);
    const full = (answer: Awaited<ReturnType<typeof call>>, field: string) =>
      expect([answer.status, answer.body.code, answer.body.field]).toEqual([
        422,
        'secret_value_too_long',
        field,
      ]);
    const secret = { name: 'DB', vault_path: `resources/${name}`, anchor: 'external' };
    const more = (material: object) => ({ replicas: 0, secrets: [{ ...secret, ...material }] });
    for (const query of ['', '?dryRun=true']) {
      full(await apply(name, { keys: ['more'] }, query), 'generate');
      const body = { name: web, image: IMAGE, ...more({ values: { more: 'x' } }) };
      full(await call('POST', `/api/v1/deployments${query}`, body), 'secrets[0].values');
      full(
        await call('POST', `/api/v1/deployments${query}`, {
          ...body,
          ...more({ generate: { keys: ['more'] } }),
        }),
        'secrets[0].generate',
      );
    }
    const stage = { phase: 'stage', values: { more: 'x' } };
    full(await call('POST', `/api/v1/secrets/resources/${name}/rotate`, stage), 'values');
    full(
      await call('PUT', `/api/v1/secrets/resources/${name}`, { values: most, generate: { keys: ['more'] } }),
      'values',
    );
    expect(await versionOf(name)).toBe(1);
    for (const body of [
      { values: { [`K${'x'.repeat(256)}`]: 'x' } },
      { generate: { keys: ['K'.repeat(257)] } },
    ]) {
      const refused = await call('PUT', `/api/v1/secrets/resources/${fresh('db')}`, body);
      expect([refused.status, refused.body.code]).toEqual([422, 'secret_key_invalid']);
    }
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

const IMAGE = 'localhost:1/shop/web:1';
const listed = async (query = '') =>
  (await call('GET', `/api/v1/secrets${query}`)).body as readonly {
    path: string;
    exists: boolean;
    consumers: readonly { deployment?: string; job?: string; ingress?: string }[];
  }[];
const entry = (name: string) => ({ secrets: [{ name: 'DB', vault_path: `resources/${name}` }] });
const deleted = (name: string) => call('DELETE', `/api/v1/secrets/resources/${name}`);
const deploy = (name: string, more: object) =>
  call('POST', '/api/v1/deployments', { name, image: IMAGE, replicas: 0, ...more });

describe('the list of secrets', () => {
  it('has every document with who refers to it, what is missing, and never a value', async () => {
    const [read, unread, missing] = [fresh('read'), fresh('unread'), fresh('missing')];
    const typed = 'zQ9-typed-by-hand';
    for (const name of [read, unread])
      await call('PUT', `/api/v1/secrets/resources/${name}`, { values: { password: typed } });
    const [web, dump] = [fresh('web'), fresh('dump')];
    await deploy(web, {
      secrets: [...entry(read).secrets, { name: 'M', vault_path: `resources/${missing}` }],
      ingress: [{ host: `${web}.example.com`, port: 80, tls: { vault_path: `resources/${read}` } }],
    });
    await call('POST', '/api/v1/jobs', { name: dump, image: IMAGE, schedule: '0 3 * * *', ...entry(read) });

    const all = await listed();
    const of = (name: string) => all.find(({ path }) => path === `resources/${name}`);
    expect(of(read)?.consumers.map(({ deployment, job, ingress }) => deployment ?? job ?? ingress)).toEqual([
      dump,
      web,
      web,
    ]);
    expect(of(unread)).toMatchObject({ exists: true, keys: ['password'], version: 1, consumers: [] });
    expect(of(missing)).toMatchObject({ exists: false, version: 0, consumers: [{ deployment: web }] });
    expect(JSON.stringify(all)).not.toContain(typed);
    const unreferenced = (await listed('?unreferenced=true')).map(({ path }) => path);
    expect([`resources/${unread}`, `resources/${read}`].map((path) => unreferenced.includes(path))).toEqual([
      true,
      false,
    ]);
    const shown = await call('GET', `/api/v1/secrets/resources/${read}`);
    expect(shown.body.consumers).toHaveLength(3);

    // A viewer reads it, page by page; another tenant has none of it.
    const { body: viewer } = await call('POST', '/api/v1/tokens', { name: 'viewer', role: 'viewer' });
    const asViewer = (path: string, method = 'GET') =>
      fetch(`${plane.url}${path}`, { method, headers: { authorization: `Bearer ${viewer.token}` } });
    const seen: string[] = [];
    let next: string | undefined = '/api/v1/secrets?limit=2';
    while (next !== undefined) {
      const page: Response = await asViewer(next);
      const body = (await page.json()) as readonly { readonly path: string }[];
      seen.push(...body.map(({ path }) => path));
      next = /<([^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(seen).toEqual(all.map(({ path }) => path));
    const bank = await plane.tenant(fresh('bank'));
    expect((await bank.call('GET', '/api/v1/secrets')).body).toEqual([]);
    expect((await bank.call('DELETE', `/api/v1/secrets/resources/${unread}`)).body.code).toBe(
      'secret_not_found',
    );
    expect((await asViewer(`/api/v1/secrets/resources/${unread}`, 'DELETE')).status).toBe(403);
    expect((await deleted(unread)).status).toBe(200);
  });
});

describe('a secret that is deleted', () => {
  it('goes with all its versions, is told, and may be made again', async () => {
    const name = fresh('db');
    await apply(name, { keys: ['password'] });
    await call('PUT', `/api/v1/secrets/resources/${name}`, { values: { user: 'app' } });
    const gone = await deleted(name);
    expect([gone.status, gone.body.version, gone.body.removed]).toEqual([200, 2, ['keys[user]']]);
    expect((await deleted(name)).body.code).toBe('secret_not_found');
    const events = await call('GET', `/api/v1/events?kind=secret.deleted&subject=resources/${name}`);
    expect(events.body).toMatchObject([{ details: { version: 2, keys: ['user'] } }]);
    const audit = await call('GET', '/api/v1/audit?limit=1000');
    expect(JSON.stringify(audit.body)).toContain('secret.deleted');
    expect((await apply(name, { keys: ['password'] })).body).toMatchObject({
      version: 1,
      minted: ['password'],
    });
  });

  it('is refused while it is needed, by all of them, and nothing is changed by that', async () => {
    const name = fresh('db');
    await apply(name, { keys: ['password'] });
    const [web, dump] = [fresh('web'), fresh('dump')];
    await deploy(web, entry(name));
    await call('POST', '/api/v1/jobs', { name: dump, image: IMAGE, schedule: '0 3 * * *', ...entry(name) });
    const refused = await deleted(name);
    expect([refused.status, refused.body.code]).toEqual([409, 'secret_in_use']);
    expect(refused.body.why).toContain(`the job ${dump} (DB), ${web} (DB)`);
    await call('DELETE', `/api/v1/jobs/${dump}`);
    await call('PUT', `/api/v1/deployments/${web}`, { secrets: [] });
    // Until its rollout has ended it may be returned to.
    await eventually(
      () => deleted(name),
      ({ status }) => status === 200,
    );

    // An earlier revision that refers to it can be asked for, and says what is missing.
    const back = await call('POST', `/api/v1/deployments/${web}/rollback`, { version: 1 });
    expect(back.status).toBe(200);
    expect(back.body.warnings.map(({ code }: { code: string }) => code)).toContain('secret_missing');
  });

  it('is kept for a webhook that signs with it, which is listed, also when both are asked for at once', async () => {
    const hook = (name: string) =>
      call('POST', '/api/v1/webhooks', {
        name,
        url: 'https://hooks.example.com/berth',
        signing: { vault_path: `resources/${name}` },
        paused: true,
      });
    const name = fresh('hooks');
    await apply(name, { keys: ['key'] });
    expect((await hook(name)).status).toBe(201);
    const of = (all: Awaited<ReturnType<typeof listed>>) =>
      all.find(({ path }) => path === `resources/${name}`);
    const signing = [{ webhook: name, secret: 'signing', anchor: 'process', secretsVersion: 0 }];
    expect(of(await listed())?.consumers).toEqual(signing);
    const ofLabel = await call('GET', `/api/v1/secrets/resources/${name}/consumers`);
    expect(ofLabel.body).toEqual(signing);
    const { body: referenced } = await call('GET', '/api/v1/secrets/resources');
    expect(of(referenced)).toMatchObject({ exists: true, keys: ['key'], consumers: 1 });
    expect(of(await listed('?unreferenced=true'))).toBeUndefined();
    const refused = await deleted(name);
    expect([refused.status, refused.body.code]).toEqual([409, 'secret_in_use']);
    expect(refused.body.why).toContain(`the webhook ${name}, which signs with it`);
    await call('PUT', `/api/v1/webhooks/${name}`, { signing: { vault_path: 'resources/another' } });
    expect((await deleted(name)).status).toBe(200);
    expect((await listed()).find(({ path }) => path === 'resources/another')).toMatchObject({
      exists: false,
      consumers: [{ webhook: name }],
    });

    for (let round = 0; round < 8; round += 1) {
      const race = fresh('race');
      await apply(race, { keys: ['key'] });
      const [made, gone] = await Promise.all([hook(race), deleted(race)]);
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      const isThere = (await call('GET', `/api/v1/secrets/resources/${race}`)).status === 200;
      expect([gone.status, isThere]).toEqual(isThere ? [409, true] : [200, false]);
      const isTold = made.body.warnings.some(({ code }: { code: string }) => code === 'secret_missing');
      expect(isTold).toBe(!isThere);
    }
  });

  it('is listed for each namespace of a label, and pages go on from a path', async () => {
    const name = fresh('dual');
    const body = {
      name,
      image: IMAGE,
      ingress: [{ host: `${name}.example`, port: 80, tls: { vault_path: `deployments/${name}` } }],
    };
    const web = await call('POST', '/api/v1/deployments', body);
    expect(web.status, JSON.stringify(web.body)).toBe(201);
    const secrets = [{ name: 'DB', vault_path: `resources/${name}` }];
    const reader = { name: `${name}-reader`, image: IMAGE, secrets };
    expect((await call('POST', '/api/v1/deployments', reader)).status).toBe(201);
    const page = (query: string) => call('GET', `/api/v1/secrets/resources?${query}`);
    const all = (await page('limit=1000')).body as readonly { path: string; consumers: number }[];
    expect(all.filter(({ path }) => path.endsWith(`/${name}`))).toMatchObject([
      { path: `deployments/${name}`, consumers: 1 },
      { path: `resources/${name}`, consumers: 1 },
    ]);
    const paths: string[] = [];
    for (let query: string | undefined = 'limit=1'; query !== undefined; ) {
      const { body, headers } = await page(query);
      paths.push(...body.map(({ path }: { path: string }) => path));
      query = /resources\?([^>]*)>/.exec(headers.get('link') ?? '')?.[1];
    }
    expect(paths).toEqual(all.map(({ path }) => path));
    const ofOldPage = await page(`cursor=${Buffer.from(name).toString('base64url')}`);
    expect([ofOldPage.status, ofOldPage.body.code, ofOldPage.body.field]).toEqual([
      400,
      'query_parameter_invalid',
      'cursor',
    ]);
  });

  it('is not written by a deployer through a workload while a webhook signs with it', async () => {
    const name = fresh('signed');
    const values = { key: 'a key of sixteen or more characters' };
    await call('PUT', `/api/v1/secrets/deployments/${name}`, { values });
    const signing = { vault_path: `deployments/${name}` };
    const hook = { name, url: 'https://hooks.example.com/berth', signing, paused: true };
    expect((await call('POST', '/api/v1/webhooks', hook)).status).toBe(201);
    const { body: made } = await call('POST', '/api/v1/tokens', { name: 'deployer', role: 'deployer' });
    const write = () =>
      plane.as(made.token as string)('POST', '/api/v1/deployments', {
        name,
        image: IMAGE,
        replicas: 0,
        secrets: [
          { name: 'K', ...signing, anchor: 'process', values: { key: 'another key of this length' } },
        ],
      });
    expect((await write()).body.code).toBe('role_forbidden');
    await call('DELETE', `/api/v1/webhooks/${name}`);
    expect((await write()).status).toBe(201);
  });

  it('is not written by a deployer through a reference to what somebody put there', async () => {
    const { body: made } = await call('POST', '/api/v1/tokens', { name: fresh('token'), role: 'deployer' });
    const deployer = plane.as(made.token as string);
    const [shared, own] = [fresh('shared'), fresh('own')];
    const entryOf = (name: string, password?: string) => ({
      ...entry(name).secrets[0],
      anchor: 'process',
      ...(password !== undefined && { values: { password } }),
    });
    await call('PUT', `/api/v1/secrets/resources/${shared}`, { values: { password: 'put there' } });
    for (const [path, more] of [
      ['deployments', { replicas: 0 }],
      ['jobs', { schedule: '0 3 * * *' }],
    ] as const) {
      const name = fresh('evil');
      const body = { name, image: IMAGE, ...more, secrets: [entryOf(shared)] };
      expect((await deployer('POST', `/api/v1/${path}`, body)).status).toBe(201);
      const { status, body: refused } = await deployer('PUT', `/api/v1/${path}/${name}`, {
        secrets: [entryOf(shared, 'mine')],
      });
      expect([status, refused.code]).toEqual([403, 'role_forbidden']);
      await deployer('DELETE', `/api/v1/${path}/${name}`);
    }
    expect(await versionOf(shared)).toBe(1);
    // What its workload brought along it renews.
    const name = fresh('web');
    const body = { name, image: IMAGE, replicas: 0, secrets: [entryOf(own, 'one')] };
    expect((await deployer('POST', '/api/v1/deployments', body)).status).toBe(201);
    const renewed = await deployer('PUT', `/api/v1/deployments/${name}`, { secrets: [entryOf(own, 'two')] });
    expect(renewed.status).toBe(200);
    expect(await versionOf(own)).toBe(2);
  });

  it('is never taken from under a reference that is written at the same moment', async () => {
    const ends = { kept: 0, missed: 0 };
    for (let round = 0; round < 12; round += 1) {
      const name = fresh('race');
      await apply(name, { keys: ['password'] });
      const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
      const [made, gone] = await Promise.all([
        deploy(name, entry(name)),
        pause(round % 10).then(() => deleted(name)),
      ]);
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      const isTold = made.body.warnings.some(({ code }: { code: string }) => code === 'secret_missing');
      expect([gone.status, isTold]).toEqual(isTold ? [200, true] : [409, false]);
      ends[isTold ? 'missed' : 'kept'] += 1;
    }
    expect(ends.kept + ends.missed).toBe(12);
  });
});
