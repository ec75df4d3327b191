import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Alteration } from '../../src/core/model/announcement.ts';
import { canonicalJson } from '../../src/core/model/canonical.ts';
import type { Answer, Json } from '../support/api-client.ts';
import { alterationProblem } from '../support/laws.ts';
import { type Etcd, startEtcd } from '../support/etcd.ts';
import { deleteManifest, pushImage, type Registry, startRegistry } from '../support/registry.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/server-under-test.ts';

const MARKER = 'planted-material-7f3a91c2d4';
const CONTROL = 'control-marker-51ab';

let home: ControlPlane;
let away: ControlPlane;
let shop: TestTenant;
let registry: Registry;
let etcd: Etcd;
let image: string;

/** A backup moves between stores as well: from the embedded one to etcd, whose requests are smaller. */
beforeAll(async () => {
  [home, etcd, registry] = await Promise.all([startControlPlane(), startEtcd(), startRegistry()]);
  away = await startControlPlane({
    config: {
      maxReplicasPerDeployment: 3,
      'store.kind': 'etcd',
      'store.etcd.endpoints': etcd.endpoints,
    },
  });
  shop = await home.tenant('shop');
  image = (await pushImage(registry, 'shop/web:1')).reference;
});
afterAll(async () => {
  await Promise.all([home.close(), away.close()]);
  await Promise.all([registry.stop(), etcd.stop()]);
});

const deployer = (headers: Readonly<Record<string, string>> = {}) => ({
  token: shop.tokens.deployer,
  headers,
});
const viewer = () => ({ token: shop.tokens.viewer });

async function accepted(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  expect(got.status, got.text).toBeLessThan(300);
  return got;
}

function refused(answer: Answer): readonly unknown[] {
  return [answer.status, answer.body['code'], answer.body['field']];
}

/** A deployment with a history of three versions and a secret whose material was sent along. */
async function deployed(name: string): Promise<void> {
  const secrets = [
    {
      name: 'DB',
      vault_path: `deployments/${name}`,
      anchor: 'external',
      rotation: 'restart',
      values: { password: MARKER },
    },
  ];
  const body = { name, image, environment: { NOTE: CONTROL }, labels: { team: 'shop' }, secrets };
  await accepted(home.api.post('/api/v1/deployments', body, deployer()));
  await accepted(home.api.put(`/api/v1/deployments/${name}`, { replicas: 2 }, deployer()));
  await accepted(home.api.put(`/api/v1/deployments/${name}`, { labels: { team: 'web' } }, deployer()));
}

const backUp = (name: string, headers: Readonly<Record<string, string>> = {}) =>
  home.api.post('/api/v1/backups', { deploymentName: name }, deployer(headers));
const restore = (id: unknown, headers: Readonly<Record<string, string>> = {}, query = '') =>
  home.api.call('POST', `/api/v1/backups/${String(id)}/restore${query}`, deployer(headers));

async function spec(name: string): Promise<Json> {
  const archive = await home.api.get(`/api/v1/archives/deployments/${name}`, viewer());
  return archive.list.at(-1)?.['spec'] as Json;
}

function contentOf(answer: Answer): { readonly spec: Json; readonly revisions: readonly Json[] } & Json {
  return answer.body['content'] as { readonly spec: Json; readonly revisions: readonly Json[] } & Json;
}

/** The law of alterations: what is stored is the spec of the backup plus what was announced. */
async function expectRestored(plane: ControlPlane, token: string, sent: Json, answer: Answer): Promise<void> {
  const stored = await plane.api.get(`/api/v1/deployments/${String(sent['name'])}`, { token });
  expect(stored.body['revision'], answer.text).toBe(answer.body['revision']);
  const alterations = answer.body['alterations'] as Alteration[];
  expect(alterationProblem(undefined, sent, stored.body, alterations)).toBeUndefined();
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
    });
    const { alterations: _none, warnings: _neither, ...record } = made.body;
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

    const note = (letter: string) => ({ environment: { NOTE: `${letter} `.repeat(50_000) } });
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
    const exported = await home.api.get(`/api/v1/backups/${String(large.body['id'])}/export`, { token });
    const there = await away.tenant('history');
    const headers = { 'idempotency-key': 'large' };
    const options = { token: there.tokens.deployer, headers };
    const brought = await accepted(
      away.api.call('POST', '/api/v1/backups/import', { raw: exported.text, ...options }),
    );
    const path = `/api/v1/backups/${String(brought.body['id'])}/restore`;
    await accepted(away.api.call('POST', path, { token: there.tokens.deployer }));
    await accepted(
      away.api.post('/api/v1/backups', { deploymentName: 'large' }, { token: there.tokens.deployer }),
    );
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
      alterations: [{ field: 'secretsVersion', from: '1', to: '0' }],
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

describe('a backup in another control plane', () => {
  async function exported(name: string): Promise<{ readonly text: string; readonly document: Json }> {
    const { body } = await accepted(backUp(name));
    const answer = await accepted(home.api.get(`/api/v1/backups/${String(body['id'])}/export`, viewer()));
    expect(answer.headers['content-disposition']).toBe(
      `attachment; filename="${name}-${String(body['id'])}.json"`,
    );
    return { text: answer.text, document: answer.body };
  }

  const bring = (token: string, text: string, headers: Readonly<Record<string, string>> = {}) =>
    away.api.call('POST', '/api/v1/backups/import', { raw: text, token, headers });

  it('is imported and restored there, with the secrets that are missing named', async () => {
    await deployed('moved');
    const { text, document } = await exported('moved');
    const { sha256, ...rest } = document;
    expect(sha256).toBe(createHash('sha256').update(canonicalJson(rest)).digest('hex'));
    const { tokens } = await away.tenant('elsewhere');
    const headers = { 'idempotency-key': 'import-moved' };
    const made = await bring(tokens.deployer, text, headers);
    expect(made.status, made.text).toBe(201);
    const origin = document['backup'] as Json;
    expect(made.body).toMatchObject({
      deploymentName: 'moved',
      version: 3,
      imported: { id: origin['id'], createdAt: origin['createdAt'] },
      content: origin['content'],
      alterations: [],
    });
    expect(made.body['id']).not.toBe(origin['id']);
    expect((await bring(tokens.deployer, text, headers)).body).toEqual(made.body);

    const path = `/api/v1/backups/${String(made.body['id'])}/restore`;
    const answer = await away.api.call('POST', path, { token: tokens.deployer });
    expect(answer.status, answer.text).toBe(201);
    await expectRestored(away, tokens.viewer, contentOf(made).spec, answer);
    expect(answer.body).toMatchObject({
      name: 'moved',
      replicas: 2,
      image,
      warnings: [{ code: 'secret_missing', field: 'secrets[0].vault_path' }],
    });
    const again = await away.api.get(`/api/v1/backups/${String(made.body['id'])}/export`, {
      token: tokens.viewer,
    });
    expect((again.body['backup'] as Json)['content']).toEqual(origin['content']);
    const events = await away.api.get('/api/v1/events?kind=backup.imported', { token: tokens.viewer });
    expect(events.list).toHaveLength(1);
  });

  it('is refused by the registry, the limits and the facts of that place', async () => {
    const { tokens } = await away.tenant('strict');
    const { digest } = await pushImage(registry, 'shop/web:2', { env: ['A=2'] });
    const body = { name: 'gone', image: `${registry.host}/shop/web:2`, dependsOn: { db: 'started' } };
    await accepted(home.api.post('/api/v1/deployments', body, deployer()));
    const made = await bring(tokens.deployer, (await exported('gone')).text);
    await deleteManifest(registry, 'shop/web', digest);
    const path = `/api/v1/backups/${String(made.body['id'])}/restore`;
    expect(refused(await away.api.call('POST', path, { token: tokens.deployer }))).toEqual([
      404,
      'image_not_found',
      'image',
    ]);
    await pushImage(registry, 'shop/web:2', { env: ['A=2'] });
    const cycle = { name: 'db', image, dependsOn: { gone: 'started' } };
    await accepted(away.api.post('/api/v1/deployments', cycle, { token: tokens.deployer }));
    expect(refused(await away.api.call('POST', path, { token: tokens.deployer }))).toEqual([
      422,
      'depends_on_cycle',
      'dependsOn.db',
    ]);

    await accepted(home.api.post('/api/v1/deployments', { name: 'wide', image, replicas: 9 }, deployer()));
    expect(refused(await bring(tokens.deployer, (await exported('wide')).text))).toEqual([
      422,
      'replicas_out_of_range',
      'backup.content.spec.replicas',
    ]);
    await accepted(home.api.put('/api/v1/deployments/wide', { replicas: 2 }, deployer()));
    const narrowed = await bring(tokens.deployer, (await exported('wide')).text);
    expect(contentOf(narrowed).revisions.map(({ version }) => version)).toEqual([2]);
    expect(narrowed.body['alterations']).toMatchObject([
      { field: 'content.revisions[0]', from: 'version 1', to: '(absent)' },
    ]);
  });

  type Loose = Record<string, Record<string, unknown>>;

  /** The planted documents are given a right digest: it is no signature, so it must not be the only guard. */
  function edited(document: Json, edit: (loose: Loose, backup: Loose, content: Loose) => void): string {
    const copy = structuredClone(document) as unknown as Loose;
    const backup = copy['backup'] as unknown as Loose;
    edit(copy, backup, backup['content'] as unknown as Loose);
    const { sha256: _old, ...rest } = copy;
    return JSON.stringify({
      ...rest,
      sha256: createHash('sha256').update(canonicalJson(rest)).digest('hex'),
    });
  }

  const plant = (value: unknown) => value as Record<string, unknown>;
  const entry = (content: Loose) => (plant(content['spec'])['secrets'] as Record<string, unknown>[])[0] ?? {};
  const revision = (content: Loose) => (content['revisions'] as unknown as Loose[])[1] ?? {};

  it.each<[string, (loose: Loose, backup: Loose, content: Loose) => void, string, string]>([
    ['no format', (loose) => delete loose['format'], 'backup_invalid', 'format'],
    ['a later format', (loose) => (loose['formatVersion'] = plant(2)), 'backup_invalid', 'formatVersion'],
    ['an unknown field', (loose) => (loose['extra'] = {}), 'backup_invalid', 'extra'],
    ['an unknown field within', (_, backup) => (backup['by'] = {}), 'backup_invalid', 'backup.by'],
    [
      'no history',
      (_, __, content) => delete content['revisions'],
      'backup_invalid',
      'backup.content.revisions',
    ],
    [
      'a policy that cannot be restored',
      (_, __, content) => (content['scalingPolicy'] = { minReplicas: 1 }),
      'backup_invalid',
      'backup.content.scalingPolicy',
    ],
    ['text instead of an id', (_, backup) => (backup['id'] = plant(MARKER)), 'backup_invalid', 'backup.id'],
    [
      'text instead of a time',
      (_, __, content) => (revision(content)['at'] = plant(MARKER)),
      'backup_invalid',
      'backup.content.revisions[1].at',
    ],
    [
      'text instead of a digest',
      (_, __, content) => (revision(content)['specHash'] = plant(MARKER)),
      'backup_invalid',
      'backup.content.revisions[1].specHash',
    ],
    [
      'versions out of order',
      (_, __, content) => (revision(content)['version'] = plant(1)),
      'backup_invalid',
      'backup.content.revisions[1].version',
    ],
    [
      'a history that no backup has',
      (_, __, content) =>
        (plant(revision(content)['spec'])['environment'] = { NOTE: 'long '.repeat(80_000) }),
      'backup_invalid',
      'backup.content.revisions',
    ],
    [
      'a spec of another name',
      (_, __, content) => (plant(content['spec'])['name'] = 'other'),
      'backup_invalid',
      'backup.content.spec.name',
    ],
    [
      'a version of another name',
      (_, __, content) => (plant(revision(content)['spec'])['name'] = 'other'),
      'backup_invalid',
      'backup.content.revisions[1].spec.name',
    ],
    [
      'material of a secret',
      (_, __, content) => (entry(content)['values'] = { password: MARKER }),
      'backup_invalid',
      'backup.content.spec.secrets',
    ],
    [
      'material to be minted',
      (_, __, content) => (entry(content)['generate'] = { keys: ['password'] }),
      'backup_invalid',
      'backup.content.spec.secrets',
    ],
    [
      'material in the history',
      (_, __, content) => {
        const old = plant(revision(content)['spec']);
        old['secrets'] = [{ ...(old['secrets'] as Json[])[0], values: { password: MARKER } }];
      },
      'backup_invalid',
      'backup.content.revisions[1].spec.secrets',
    ],
    [
      'a key of the server',
      (_, __, content) => (plant(content['spec'])['tenantId'] = MARKER),
      'backup_invalid',
      'backup.content.spec.tenantId',
    ],
    [
      'a null',
      (_, __, content) => (plant(content['spec'])['command'] = null),
      'backup_invalid',
      'backup.content.spec',
    ],
    [
      'an unknown field of a spec',
      (_, __, content) => (plant(content['spec'])['privileged'] = true),
      'backup_invalid',
      'backup.content.spec.privileged',
    ],
    [
      'a Job',
      (_, __, content) => (plant(content['spec'])['kind'] = 'Job'),
      'backup_invalid',
      'backup.content.spec.kind',
    ],
    [
      'a credential in the environment',
      (_, __, content) =>
        (plant(content['spec'])['environment'] = { DATABASE_URL: `postgres://app:${MARKER}@db/app` }),
      'plaintext_credential_in_environment',
      'backup.content.spec.environment.DATABASE_URL',
    ],
    [
      'a path out of the mount',
      (_, __, content) => (entry(content)['vault_path'] = '../other/db'),
      'secret_vault_path_not_relative',
      'backup.content.spec.secrets[0].vault_path',
    ],
    [
      'a label of the platform',
      (_, __, content) => (plant(content['spec'])['labels'] = { 'berth.io/tenant': 'x' }),
      'label_reserved',
      'backup.content.spec.labels.berth.io/tenant',
    ],
  ])('made by hand with %s is refused', async (_, edit, code, field) => {
    if ((await home.api.get('/api/v1/deployments/planted', viewer())).status === 404)
      await deployed('planted');
    const { document } = await exported('planted');
    const { tokens } = await away.tenant('planted');
    const answer = await bring(tokens.deployer, edited(document, edit));
    expect(refused(answer)).toEqual([422, code, field]);
    expect(answer.text).not.toContain(MARKER);
  });

  it('that was changed after the export, or is none, is refused', async () => {
    await deployed('changed');
    const { text } = await exported('changed');
    const { tokens } = await away.tenant('planted');
    const changed = await bring(tokens.deployer, text.replace('"replicas":2', '"replicas":3'));
    expect(refused(changed)).toEqual([422, 'backup_invalid', 'sha256']);
    for (const body of ['{"name":"web"}', '[]', '7', 'null', '""'])
      expect(refused(await bring(tokens.deployer, body))).toEqual([422, 'backup_invalid', 'format']);
    expect(refused(await bring(tokens.deployer, text.slice(0, -1)))[1]).toBe('body_malformed');
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
    expect(forms(MARKER).filter((form) => everything.includes(form))).toEqual([]);
    expect(everything).toContain(CONTROL);
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
