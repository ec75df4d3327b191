import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Answer, Json } from '../support/harness/api-client.ts';
import {
  accepted,
  contentOf,
  deployThreeVersions,
  expectRestored,
  MATERIAL,
  PLAIN,
  refused,
} from '../support/backups.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

let home: ControlPlane;
let shop: TestTenant;
let registry: Registry;
let image: string;

beforeAll(async () => {
  [home, registry] = await Promise.all([startControlPlane(), startRegistry()]);
  shop = await home.tenant('shop');
  image = (await pushImage(registry, 'shop/web:1')).reference;
});
afterAll(async () => {
  await Promise.all([home.close(), registry.stop()]);
});

const deployer = (headers: Readonly<Record<string, string>> = {}) => ({
  token: shop.tokens.deployer,
  headers,
});
const viewer = () => ({ token: shop.tokens.viewer });
const deployed = (name: string) => deployThreeVersions(home, shop.tokens.deployer, name, image);
const backUp = (name: string, headers: Readonly<Record<string, string>> = {}) =>
  home.api.post('/api/v1/backups', { deploymentName: name }, deployer(headers));
const restore = (id: unknown, headers: Readonly<Record<string, string>> = {}, query = '') =>
  home.api.call('POST', `/api/v1/backups/${String(id)}/restore${query}`, deployer(headers));

async function spec(name: string): Promise<Json> {
  const archive = await home.api.get(`/api/v1/archives/deployments/${name}`, viewer());
  return archive.list.at(-1)?.['spec'] as Json;
}

describe('a backup', () => {
  it('holds the spec, the policies and the history as of one point in time', async () => {
    await deployed('whole');
    const made = await backUp('whole');
    expect(made.status, made.text).toBe(201);
    const archive = await home.api.get('/api/v1/archives/deployments/whole', viewer());
    expect(made.body).toMatchObject({
      id: expect.stringMatching(/^bak_[0-9a-z]{26}$/) as string,
      deploymentName: 'whole',
      version: 3,
      createdBy: expect.stringMatching(/^tok/) as string,
      content: { spec: await spec('whole'), scalingPolicy: null, canary: null, revisions: archive.list },
      alterations: [],
      warnings: [],
      removed: [],
    });
    const { alterations: _none, warnings: _neither, removed: _nothing, ...record } = made.body;
    const read = await home.api.get(`/api/v1/backups/${String(record['id'])}`, viewer());
    expect(read.body).toEqual(record);
    expect(read.headers.etag).toBe(made.headers.etag);
    await accepted(home.api.put('/api/v1/deployments/whole', { replicas: 0 }, deployer()));
    expect((await home.api.get(`/api/v1/backups/${String(record['id'])}`, viewer())).body).toEqual(record);
  });

  it('is of one point in time though the deployment changes between the reads of its spec and its history', async () => {
    await deployed('moving');
    const { kv } = home.store;
    const range = kv.range.bind(kv);
    let changes = 0;
    const reads = vi.spyOn(kv, 'range').mockImplementation(async (prefix, options) => {
      if (prefix.endsWith('/archives/moving/') && changes < 2) {
        changes += 1;
        await accepted(
          home.api.send('PUT', '/api/v1/deployments/moving', { ...deployer(), body: { replicas: changes } }),
        );
      }
      return range(prefix, options);
    });
    const made = await backUp('moving');
    reads.mockRestore();
    expect(changes).toBe(2);
    const { spec: copied, revisions } = contentOf(made);
    expect([made.body['version'], copied['replicas']]).toEqual([5, 2]);
    expect(revisions.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    expect(revisions.at(-1)?.['spec']).toEqual(copied);
  });

  it('is listed without its contents, newest last, page by page', async () => {
    const { tokens } = await home.tenant('listed');
    const token = tokens.deployer;
    await accepted(home.api.post('/api/v1/deployments', { name: 'web', image }, { token }));
    const ids: unknown[] = [];
    for (let count = 0; count < 5; count += 1) {
      const made = await accepted(home.api.post('/api/v1/backups', { deploymentName: 'web' }, { token }));
      ids.push(made.body['id']);
    }
    const all = await home.api.get('/api/v1/backups', { token: tokens.viewer });
    expect(all.list.map(({ id }) => id)).toEqual(ids);
    expect(all.list[0]).toMatchObject({ deploymentName: 'web', version: 1, image, revisions: 1 });
    expect(all.list[0]).not.toHaveProperty('content');
    const seen: unknown[] = [];
    let path: string | undefined = '/api/v1/backups?limit=2';
    while (path !== undefined) {
      const page: Answer = await home.api.get(path, { token: tokens.viewer });
      expect(page.list.length).toBeLessThanOrEqual(2);
      seen.push(...page.list.map(({ id }) => id));
      path = /<([^>]+)>; rel="next"/.exec(String(page.headers['link'] ?? ''))?.[1];
    }
    expect(seen).toEqual(ids);
  });

  it('takes the newest 100 versions, and fewer when they are large, which it says', async () => {
    const { tokens } = await home.tenant('history');
    const token = tokens.deployer;
    await accepted(home.api.post('/api/v1/deployments', { name: 'many', image }, { token }));
    for (let count = 0; count < 102; count += 1)
      await home.api.put('/api/v1/deployments/many', { replicas: count % 3 }, { token, laws: false });
    const many = await home.api.post('/api/v1/backups', { deploymentName: 'many' }, { token });
    const versions = contentOf(many).revisions.map(({ version }) => Number(version));
    expect([versions.length, versions[0], versions.at(-1)]).toEqual([100, 4, 103]);
    expect(many.body['warnings']).toEqual([]);

    const note = (letter: string) => ({
      command: ['/bin/web', `${letter} `.repeat(25_000)],
      environment: { NOTE: `${letter} `.repeat(25_000) },
    });
    await accepted(
      home.api.post('/api/v1/deployments', { name: 'large', image, ...note('a') }, { token, laws: false }),
    );
    for (const letter of ['b', 'c', 'd', 'e'])
      await accepted(home.api.put('/api/v1/deployments/large', note(letter), { token, laws: false }));
    const large = await home.api.post(
      '/api/v1/backups',
      { deploymentName: 'large' },
      { token, headers: { 'idempotency-key': 'large' } },
    );
    expect(contentOf(large).revisions.map(({ version }) => version)).toEqual([4, 5]);
    expect(large.body['warnings']).toEqual([
      expect.objectContaining({ code: 'backup_history_cut', field: 'content.revisions' }),
    ]);
  });

  it('is made once for one Idempotency-Key', async () => {
    await deployed('once');
    const first = await backUp('once', { 'idempotency-key': 'backup-once' });
    const second = await backUp('once', { 'idempotency-key': 'backup-once' });
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body).toEqual(first.body);
    const { list } = await home.api.get('/api/v1/backups', viewer());
    expect(list.filter(({ deploymentName }) => deploymentName === 'once')).toHaveLength(1);
    expect(refused(await backUp('whole', { 'idempotency-key': 'backup-once' }))).toEqual([
      409,
      'idempotency_key_conflict',
      'Idempotency-Key',
    ]);
  });

  it.each([
    [{ deploymentName: 'no-such' }, 404, 'deployment_not_found', 'deploymentName'],
    [{ deploymentName: '../etc' }, 404, 'deployment_not_found', 'deploymentName'],
    [{ deploymentName: '' }, 422, 'name_required', 'deploymentName'],
    [{}, 422, 'name_required', 'deploymentName'],
    [{ deploymentName: 7 }, 422, 'field_type_invalid', 'deploymentName'],
    [{ deploymentName: 'whole', id: 'bak_mine' }, 422, 'field_unknown', 'id'],
  ])('of %j is refused', async (body, ...expected) => {
    expect(refused(await home.api.post('/api/v1/backups', body, deployer()))).toEqual(expected);
  });

  it('is deleted once, with its line in the list', async () => {
    await deployed('deleted');
    const { body } = await backUp('deleted');
    const path = `/api/v1/backups/${String(body['id'])}`;
    const both = await Promise.all([1, 2].map(() => home.api.delete(path, { ...deployer(), laws: false })));
    expect(both.map(({ status }) => String(status)).sort()).toEqual(['200', '404']);
    const gone = both.find(({ status }) => status === 200);
    expect(gone?.body).toMatchObject({ id: body['id'], alterations: [], warnings: [] });
    const later = [await home.api.delete(path, deployer()), await home.api.get(path, viewer())];
    for (const answer of [...later, await restore(body['id'])])
      expect(refused(answer)).toEqual([404, 'backup_not_found', 'id']);
    const events = await home.api.get('/api/v1/events?kind=backup.deleted', viewer());
    expect(events.list.filter(({ subject }) => (subject as Json)['name'] === body['id'])).toHaveLength(1);
    const { list } = await home.api.get('/api/v1/backups', viewer());
    expect(list.map(({ id }) => id)).not.toContain(body['id']);
  });
});

describe('a restore', () => {
  it('replaces the spec whole, with what it lost, its version, event and audit lines', async () => {
    await deployed('replaced');
    const made = await backUp('replaced');
    const sent = contentOf(made).spec;
    await accepted(
      home.api.put(
        '/api/v1/deployments/replaced',
        { environment: { MODE: 'fast' }, command: ['/bin/web'], secrets: [] },
        deployer(),
      ),
    );
    const answer = await restore(made.body['id']);
    expect(answer.status, answer.text).toBe(200);
    await expectRestored(home, shop.tokens.viewer, sent, answer);
    expect(answer.body['removed']).toEqual(['environment[MODE]', 'command']);
    expect(answer.body['alterations']).toEqual([]);
    const archive = await home.api.get('/api/v1/archives/deployments/replaced', viewer());
    expect(archive.list.at(-1)).toMatchObject({ version: 5, change: 'restored', spec: sent });
    const events = await home.api.get('/api/v1/events?subject=replaced&kind=deployment.restored', viewer());
    expect(events.list.map(({ details }) => details)).toMatchObject([
      { backupId: made.body['id'], backupVersion: 3, version: 5 },
    ]);
    const audit = await home.api.get('/api/v1/audit', { token: shop.tokens['tenant-admin'] });
    const actions = audit.list.filter(({ subject }) =>
      ['replaced', made.body['id']].includes((subject as Json)['name']),
    );
    expect(actions.map(({ action }) => action)).toEqual([
      'deployment.created',
      'deployment.updated',
      'deployment.updated',
      'backup.created',
      'deployment.updated',
      'deployment.restored',
      'backup.restored',
    ]);
  });

  it('creates the deployment again after its deletion, continuing its history', async () => {
    await deployed('revived');
    await accepted(
      home.api.post(
        '/api/v1/deployments/revived/secrets/rotate',
        { phase: 'stage' },
        { token: shop.tokens['secret-writer'] },
      ),
    );
    const made = await backUp('revived');
    expect(contentOf(made).spec['secretsVersion']).toBe(1);
    const old = await home.api.get('/api/v1/deployments/revived', viewer());
    await accepted(home.api.delete('/api/v1/deployments/revived', deployer()));
    const guarded = await restore(made.body['id'], { 'if-match': '*' });
    expect(refused(guarded)).toEqual([412, 'revision_mismatch', 'If-Match']);
    const answer = await restore(made.body['id']);
    expect(answer.status, answer.text).toBe(201);
    await expectRestored(home, shop.tokens.viewer, contentOf(made).spec, answer);
    expect(answer.body['id']).not.toBe(old.body['id']);
    expect(answer.body).toMatchObject({
      secretsVersion: 0,
      alterations: [
        { field: 'secretsVersion', from: '1', to: '0' },
        { field: 'imageDigest', from: '(absent)', to: answer.body['imageDigest'] },
      ],
    });
    const archive = await home.api.get('/api/v1/archives/deployments/revived', viewer());
    expect(archive.list.map(({ version, change }) => `${String(version)} ${String(change)}`)).toEqual([
      '1 created',
      '2 updated',
      '3 updated',
      '4 rotated',
      '5 deleted',
      '6 restored',
    ]);
  });

  it('leaves the rotation counter of a deployment that exists', async () => {
    await deployed('counted');
    const made = await backUp('counted');
    await accepted(
      home.api.post(
        '/api/v1/deployments/counted/secrets/rotate',
        { phase: 'stage' },
        { token: shop.tokens['secret-writer'] },
      ),
    );
    const answer = await restore(made.body['id']);
    await expectRestored(home, shop.tokens.viewer, contentOf(made).spec, answer);
    expect(answer.body['alterations']).toMatchObject([{ field: 'secretsVersion', from: '0', to: '1' }]);
    const same = await restore(made.body['id']);
    expect(same.body['warnings']).toMatchObject([{ code: 'nothing_changed', field: 'id' }]);
  });

  it('as a dry run stores nothing; with If-Match and Idempotency-Key it is guarded and done once', async () => {
    await deployed('careful');
    const made = await backUp('careful');
    await accepted(home.api.put('/api/v1/deployments/careful', { replicas: 0 }, deployer()));
    const before = await home.api.get('/api/v1/deployments/careful', viewer());
    const dry = await restore(made.body['id'], {}, '?dryRun=true');
    expect((dry.body['plan'] as Json)['diff']).toEqual([{ field: 'replicas', from: 0, to: 2 }]);
    expect((await home.api.get('/api/v1/deployments/careful', viewer())).headers.etag).toBe(
      before.headers.etag,
    );
    expect(refused(await restore(made.body['id'], { 'if-match': '"1"' }))).toEqual([
      412,
      'revision_mismatch',
      'If-Match',
    ]);
    const headers = { 'if-match': String(before.headers.etag), 'idempotency-key': 'restore-careful' };
    const first = await restore(made.body['id'], headers);
    expect(first.status, first.text).toBe(200);
    const second = await restore(made.body['id'], headers);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body).toEqual(first.body);
    const archive = await home.api.get('/api/v1/archives/deployments/careful', viewer());
    expect(archive.list.filter(({ change }) => change === 'restored')).toHaveLength(1);
  });

  it('takes no body with fields: a backup is restored whole, under its own name', async () => {
    await deployed('bodied');
    const { body } = await backUp('bodied');
    const path = `/api/v1/backups/${String(body['id'])}/restore`;
    expect(refused(await home.api.post(path, { name: 'other' }, deployer()))).toEqual([
      422,
      'field_unknown',
      'name',
    ]);
    expect(refused(await home.api.post(path, [], deployer()))[1]).toBe('field_type_invalid');
    expect((await home.api.post(path, {}, deployer())).status).toBe(200);
  });
});

describe('backups are kept apart', () => {
  it('by tenant: the id of another is as if there were none', async () => {
    await deployed('owned');
    const { body } = await backUp('owned');
    const id = String(body['id']);
    const { tokens } = await home.tenant('neighbour');
    const foreign = { token: tokens['tenant-admin'] };
    const calls = (of: string) => [
      () => home.api.get(`/api/v1/backups/${of}`, foreign),
      () => home.api.get(`/api/v1/backups/${of}/export`, foreign),
      () => home.api.call('POST', `/api/v1/backups/${of}/restore`, foreign),
      () => home.api.delete(`/api/v1/backups/${of}`, foreign),
    ];
    const missing = id.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    for (const [index, call] of calls(id).entries()) {
      const answer = await call();
      const absent = await calls(missing)[index]?.();
      expect(answer.status).toBe(404);
      expect(answer.text.replaceAll(id, missing)).toBe(absent?.text);
    }
    expect((await home.api.get('/api/v1/backups', foreign)).list).toEqual([]);
    expect(refused(await home.api.post('/api/v1/backups', { deploymentName: 'owned' }, foreign))[1]).toBe(
      'deployment_not_found',
    );
    expect((await home.api.get(`/api/v1/backups/${id}`, viewer())).status).toBe(200);
    for (const odd of ['..', '%2e%2e%2fweb', 'bak_', 'BAK_1', `${id}%2f..`])
      expect((await home.api.get(`/api/v1/backups/${odd}`, viewer())).status).toBe(404);
  });

  it('by role: reading does not permit writing', async () => {
    await deployed('roles');
    const { body } = await backUp('roles');
    const path = `/api/v1/backups/${String(body['id'])}`;
    for (const call of [
      () => home.api.post('/api/v1/backups', { deploymentName: 'roles' }, viewer()),
      () => home.api.post('/api/v1/backups/import', {}, viewer()),
      () => home.api.call('POST', `${path}/restore`, viewer()),
      () => home.api.delete(path, viewer()),
    ])
      expect(refused(await call())).toEqual([403, 'role_forbidden', 'Authorization']);
    for (const read of [path, `${path}/export`, '/api/v1/backups'])
      expect((await home.api.get(read, viewer())).status).toBe(200);
  });

  it('from the material of secrets: none is in the store, an answer, an export or the log', async () => {
    await deployed('secret');
    const { body, text } = await backUp('secret');
    const path = `/api/v1/backups/${String(body['id'])}`;
    const answers = [
      text,
      (await home.api.get(path, viewer())).text,
      (await home.api.get(`${path}/export`, viewer())).text,
      (await restore(body['id'])).text,
      (await home.api.get('/api/v1/archives/deployments/secret', viewer())).text,
      (await home.api.get('/api/v1/events', viewer())).text,
    ];
    const stored = [
      ...(await home.store.kv.range('h/')).entries,
      ...(await home.store.kv.range('c/')).entries,
    ];
    const everything = [...answers, ...stored.map(({ value }) => value), ...home.logs].join('\n');
    const forms = (marker: string) => [
      marker,
      Buffer.from(marker).toString('hex'),
      ...[0, 1, 2].map((shift) =>
        Buffer.from('x'.repeat(shift) + marker)
          .toString('base64')
          .slice(shift === 0 ? 0 : 4, -4),
      ),
    ];
    expect(forms(MATERIAL).filter((form) => everything.includes(form))).toEqual([]);
    expect(everything).toContain(PLAIN);
    const metadata = await home.api.get('/api/v1/secrets/deployments/secret', viewer());
    expect(metadata.body).toMatchObject({ keys: ['password'] });
  });
});

it('a deployment whose registry is away is restored with a warning', async () => {
  await accepted(
    home.api.post('/api/v1/deployments', { name: 'offline', image: UNREACHABLE_IMAGE }, deployer()),
  );
  const { body } = await backUp('offline');
  await accepted(home.api.delete('/api/v1/deployments/offline', deployer()));
  const answer = await restore(body['id']);
  expect(answer.status).toBe(201);
  expect(answer.body['warnings']).toMatchObject([{ code: 'registry_unreachable', field: 'image' }]);
});
