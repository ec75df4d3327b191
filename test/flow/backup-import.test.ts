import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../src/core/model/canonical.ts';
import type { Json } from '../support/harness/api-client.ts';
import {
  accepted,
  contentOf,
  deployThreeVersions,
  expectRestored,
  MATERIAL,
  refused,
} from '../support/backups.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { deleteManifest, pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

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

const deployer = () => ({ token: shop.tokens.deployer });
const viewer = () => ({ token: shop.tokens.viewer });
const deployed = (name: string) => deployThreeVersions(home, shop.tokens.deployer, name, image);
const backUp = (name: string) => home.api.post('/api/v1/backups', { deploymentName: name }, deployer());

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
      warnings: [],
      removed: [],
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

  it('fits the requests of etcd with the largest history, also with the answer kept for its key', async () => {
    const note = (letter: string) => ({
      command: ['/bin/web', `${letter} `.repeat(25_000)],
      environment: { NOTE: `${letter} `.repeat(25_000) },
    });
    await accepted(home.api.post('/api/v1/deployments', { name: 'large', image, ...note('a') }, deployer()));
    for (const letter of ['b', 'c', 'd'])
      await accepted(home.api.put('/api/v1/deployments/large', note(letter), deployer()));
    const { tokens } = await away.tenant('large');
    const made = await accepted(
      bring(tokens.deployer, (await exported('large')).text, { 'idempotency-key': 'large' }),
    );
    const options = { token: tokens.deployer };
    await accepted(away.api.call('POST', `/api/v1/backups/${String(made.body['id'])}/restore`, options));
    await accepted(away.api.post('/api/v1/backups', { deploymentName: 'large' }, options));
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
      'half a policy',
      (_, __, content) => (content['scalingPolicy'] = { minReplicas: 1 }),
      'backup_invalid',
      'backup.content.scalingPolicy.maxReplicas',
    ],
    [
      'material in a policy',
      (_, __, content) =>
        (content['scalingPolicy'] = {
          minReplicas: 1,
          maxReplicas: 2,
          targetCpuPercent: 50,
          cooldown: plant(MATERIAL),
        }),
      'scaling_policy_invalid',
      'backup.content.scalingPolicy.cooldown',
    ],
    [
      'a policy with more than it has',
      (_, __, content) => (content['scalingPolicy'] = { note: plant(MATERIAL) }),
      'backup_invalid',
      'backup.content.scalingPolicy.note',
    ],
    [
      'material in a canary',
      (_, __, content) =>
        (content['canary'] = {
          replicas: 1,
          spec: {
            ...(content['spec'] as Json),
            secrets: [
              { name: 'X', vault_path: 'resources/x', anchor: 'external', values: { a: plant(MATERIAL) } },
            ],
          },
        }),
      'backup_invalid',
      'backup.content.canary.spec.secrets',
    ],
    [
      'a canary that is the stable spec',
      (_, __, content) => (content['canary'] = { replicas: 1, spec: content['spec'] }),
      'canary_invalid',
      'backup.content.canary.spec',
    ],
    ['text instead of an id', (_, backup) => (backup['id'] = plant(MATERIAL)), 'backup_invalid', 'backup.id'],
    [
      'text instead of a time',
      (_, __, content) => (revision(content)['at'] = plant(MATERIAL)),
      'backup_invalid',
      'backup.content.revisions[1].at',
    ],
    [
      'text instead of a digest',
      (_, __, content) => (revision(content)['specHash'] = plant(MATERIAL)),
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
      (_, __, content) => (entry(content)['values'] = { password: MATERIAL }),
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
        old['secrets'] = [{ ...(old['secrets'] as Json[])[0], values: { password: MATERIAL } }];
      },
      'backup_invalid',
      'backup.content.revisions[1].spec.secrets',
    ],
    [
      'a key of the server',
      (_, __, content) => (plant(content['spec'])['tenantId'] = MATERIAL),
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
        (plant(content['spec'])['environment'] = { DATABASE_URL: `postgres://app:${MATERIAL}@db/app` }),
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
    expect(answer.text).not.toContain(MATERIAL);
    expect(answer.body['received']).not.toBe('(redacted)');
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
