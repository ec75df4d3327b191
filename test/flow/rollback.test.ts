import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Alteration, Warning } from '../../src/core/model/announcement.ts';
import type { VolumeId } from '../../src/core/model/ids.ts';
import { Transaction } from '../../src/server/store/transaction.ts';
import type { Answer, Json } from '../support/harness/api-client.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';
import { alterationProblem } from '../support/laws.ts';
import { deleteManifest, pushImage, startRegistry } from '../support/harness/registry.ts';

const OTHER_IMAGE = '127.0.0.1:1/shop/web:1.5.0';

let plane: ControlPlane;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
});
afterAll(() => plane.close());

const as = (token: string, headers: Readonly<Record<string, string>> = {}) => ({ token, headers });
const deployer = (headers: Readonly<Record<string, string>> = {}) => as(shop.tokens.deployer, headers);

async function accepted(answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  expect(got.status, got.text).toBeLessThan(300);
  return got;
}

/** Three versions that differ in every way a rollback has to undo: a field changed, added, lost. */
async function threeVersions(name: string): Promise<void> {
  await accepted(
    plane.api.post(
      '/api/v1/deployments',
      {
        name,
        image: UNREACHABLE_IMAGE,
        replicas: 1,
        environment: { LOG_LEVEL: 'info' },
        labels: { team: 'shop' },
      },
      deployer(),
    ),
  );
  await accepted(
    plane.api.put(
      `/api/v1/deployments/${name}`,
      {
        image: OTHER_IMAGE,
        replicas: 2,
        secrets: [{ name: 'DB', vault_path: `resources/${name}`, anchor: 'external', rotation: 'restart' }],
      },
      deployer(),
    ),
  );
  await accepted(
    plane.api.put(
      `/api/v1/deployments/${name}`,
      {
        environment: { MODE: 'fast' },
        labels: null,
        healthCheck: { type: 'exec', command: ['wget -qO- localhost'] },
      },
      deployer(),
    ),
  );
}

const rollback = (name: string, body: unknown, headers: Readonly<Record<string, string>> = {}, query = '') =>
  plane.api.post(`/api/v1/deployments/${name}/rollback${query}`, body, deployer(headers));

async function archive(name: string): Promise<readonly Json[]> {
  return (await plane.api.get(`/api/v1/archives/deployments/${name}`, as(shop.tokens.viewer))).list;
}

async function archivedSpec(name: string, version: number): Promise<Json> {
  return (await archive(name)).find((entry) => entry['version'] === version)?.['spec'] as Json;
}

/** The law of alterations: what is stored is the archived spec plus what was announced. */
async function expectRolledBack(name: string, version: number, answer: Answer): Promise<void> {
  expect(answer.status, answer.text).toBe(200);
  const stored = await plane.api.get(`/api/v1/deployments/${name}`, deployer());
  expect(stored.body['revision']).toBe(answer.body['revision']);
  const alterations = answer.body['alterations'] as Alteration[];
  expect(
    alterationProblem(undefined, await archivedSpec(name, version), stored.body, alterations),
  ).toBeUndefined();
}

describe('a rollback', () => {
  it('returns to each of three versions, as a new version with its event and audit line', async () => {
    await threeVersions('three');
    for (const version of [1, 2, 3])
      await expectRolledBack('three', version, await rollback('three', { version }));
    const versions = await archive('three');
    expect(versions.map(({ version, change }) => `${String(version)} ${String(change)}`)).toEqual([
      '1 created',
      '2 updated',
      '3 updated',
      '4 rolled-back',
      '5 rolled-back',
      '6 rolled-back',
    ]);
    for (const offset of [0, 1, 2])
      expect(versions[offset + 3]?.['spec']).toEqual(versions[offset]?.['spec']);
    const events = await plane.api.get(
      '/api/v1/events?kind=deployment.rolled_back&subject=three',
      deployer(),
    );
    expect(events.list.map((event) => event['details'])).toMatchObject([
      { version: 4, replaced: 3, restored: 1 },
      { version: 5, replaced: 4, restored: 2 },
      { version: 6, replaced: 5, restored: 3 },
    ]);
    const audit = await plane.api.get('/api/v1/audit', as(shop.tokens['tenant-admin']));
    expect(
      audit.list.filter(
        ({ action, subject }) => action === 'deployment.rolled-back' && (subject as Json)['name'] === 'three',
      ),
    ).toHaveLength(3);
  });

  it('says what it lost, and takes the typed id', async () => {
    await threeVersions('lost');
    const { body } = await plane.api.get('/api/v1/deployments/lost', deployer());
    const answer = await rollback(String(body['id']), { version: 1 });
    expect(answer.body['removed']).toEqual(['environment[MODE]', 'secrets[DB]', 'healthCheck']);
    expect(answer.body).toMatchObject({
      replicas: 1,
      image: UNREACHABLE_IMAGE,
      environment: { LOG_LEVEL: 'info' },
      labels: { team: 'shop' },
      secrets: [],
      alterations: [],
    });
    expect(answer.body).not.toHaveProperty('healthCheck');
  });

  it('leaves the rotation counter where it is, and says so', async () => {
    await threeVersions('rotated');
    await accepted(
      plane.api.call('PUT', '/api/v1/secrets/resources/rotated', {
        body: { values: { password: 'first-value-of-the-document' } },
        token: shop.tokens['secret-writer'],
      }),
    );
    await accepted(
      plane.api.post(
        '/api/v1/deployments/rotated/secrets/rotate',
        { phase: 'stage' },
        as(shop.tokens['secret-writer']),
      ),
    );
    const answer = await rollback('rotated', { version: 2 });
    await expectRolledBack('rotated', 2, answer);
    expect(answer.body).toMatchObject({
      secretsVersion: 1,
      alterations: [{ field: 'secretsVersion', from: '0', to: '1' }],
      status: { rotation: { phase: 'stage', next: 'promote' } },
    });
    const requestId = answer.headers['x-request-id'];
    const lines = plane.logs
      .map((line) => JSON.parse(line) as Json)
      .filter((line) => line['requestId'] === requestId);
    expect(lines).toMatchObject([
      { msg: 'accepted', name: 'rotated', alterations: answer.body['alterations'] },
    ]);
  });

  it('to the current spec says that nothing changed', async () => {
    await threeVersions('same');
    const answer = await rollback('same', { version: 3 });
    expect(answer.status).toBe(200);
    expect(answer.body['warnings']).toEqual([
      expect.objectContaining({ code: 'secret_missing', field: 'secrets[0].vault_path' }),
      expect.objectContaining({ code: 'nothing_changed', field: 'version' }),
    ]);
    const other = await rollback('same', { version: 2 });
    expect((other.body['warnings'] as Warning[]).map(({ code }) => code)).not.toContain('nothing_changed');
  });

  it('as a dry run stores nothing and shows every field that would change', async () => {
    await threeVersions('dry');
    const before = await plane.store.kv.range('c/');
    const answer = await rollback('dry', { version: 1 }, {}, '?dryRun=true');
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({ replicas: 1, image: UNREACHABLE_IMAGE });
    const plan = answer.body['plan'] as { readonly diff: readonly Json[] };
    expect(plan.diff.map(({ field }) => field)).toEqual([
      'environment.LOG_LEVEL',
      'environment.MODE',
      'healthCheck',
      'image',
      'labels',
      'replicas',
      'secrets',
    ]);
    const after = await plane.store.kv.range('c/');
    const archives = (range: typeof before) =>
      range.entries.filter(({ key }) => key.includes('/archives/')).map(({ key }) => key);
    expect(archives(after)).toEqual(archives(before));
    expect((await plane.api.get('/api/v1/deployments/dry', deployer())).body['image']).toBe(OTHER_IMAGE);
  });

  it('honours If-Match', async () => {
    await threeVersions('guarded');
    const { body } = await plane.api.get('/api/v1/deployments/guarded', deployer());
    const revision = Number(body['revision']);
    const stale = await rollback('guarded', { version: 1 }, { 'if-match': `"${revision - 1}"` });
    expect([stale.status, stale.body['code']]).toEqual([412, 'revision_mismatch']);
    const fresh = await rollback('guarded', { version: 1 }, { 'if-match': `"${revision}"` });
    expect(fresh.status, fresh.text).toBe(200);
    expect(fresh.headers.etag).toBe(`"${String(fresh.body['revision'])}"`);
  });

  it('is done once for one Idempotency-Key', async () => {
    await threeVersions('once');
    const first = await rollback('once', { version: 1 }, { 'idempotency-key': 'roll-once' });
    const second = await rollback('once', { version: 1 }, { 'idempotency-key': 'roll-once' });
    expect(second.status).toBe(200);
    expect(second.headers['idempotency-replayed']).toBe('true');
    expect(second.body).toEqual(first.body);
    expect(await archive('once')).toHaveLength(4);
    const other = await rollback('once', { version: 2 }, { 'idempotency-key': 'roll-once' });
    expect(other.body['code']).toBe('idempotency_key_conflict');
  });

  it.each([
    [{ version: 99 }, 404, 'archive_version_not_found', 'version'],
    [{ version: 0 }, 404, 'archive_version_not_found', 'version'],
    [{ version: 10_000_000_000 }, 404, 'archive_version_not_found', 'version'],
    [{}, 422, 'field_type_invalid', 'version'],
    [{ version: '1' }, 422, 'field_type_invalid', 'version'],
    [{ version: 1.5 }, 422, 'field_type_invalid', 'version'],
    [{ version: 1, force: true }, 422, 'field_unknown', 'force'],
  ])('with %j is refused', async (body, status, code, field) => {
    if ((await plane.api.get('/api/v1/deployments/refused', deployer())).status === 404)
      await threeVersions('refused');
    const answer = await rollback('refused', body);
    expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([status, code, field]);
  });

  it('needs the deployment, the permission and the tenant', async () => {
    await threeVersions('mine');
    const missing = await rollback('no-such', { version: 1 });
    expect([missing.status, missing.body['code'], missing.body['field']]).toEqual([
      404,
      'deployment_not_found',
      'name',
    ]);
    const viewer = await plane.api.post(
      '/api/v1/deployments/mine/rollback',
      { version: 1 },
      as(shop.tokens.viewer),
    );
    expect(viewer.body['code']).toBe('role_forbidden');
    const { tokens } = await plane.tenant('bank');
    const foreign = await plane.api.post(
      '/api/v1/deployments/mine/rollback',
      { version: 1 },
      as(tokens.deployer),
    );
    expect(foreign.body['code']).toBe('deployment_not_found');
  });

  it('asks the rules that need stored state: a volume that is gone is not mounted again', async () => {
    const volumeId = 'vol_01jdrollback' as VolumeId;
    const volume = {
      id: volumeId,
      tenantId: shop.id,
      name: 'data',
      class: 'ephemeral',
      type: 'tmpfs',
      phase: 'Ready',
      sizeBytes: 1,
      replicas: [],
      accessMode: 'ReadWriteOnce',
      epoch: 1,
      copies: 0,
      leaving: [],
      leaseMs: 15_000,
      createdAt: new Date(0).toISOString(),
    } as const;
    await plane.store.commit(new Transaction(shop.id).put('volumes', volumeId, volume));
    const mount = { volumeId, mountPath: '/data', readOnly: false };
    await accepted(
      plane.api.post(
        '/api/v1/deployments',
        { name: 'mounted', image: UNREACHABLE_IMAGE, volumes: [mount] },
        deployer(),
      ),
    );
    await accepted(plane.api.put('/api/v1/deployments/mounted', { volumes: [] }, deployer()));
    await plane.store.commit(new Transaction(shop.id).delete('volumes', volumeId));
    const answer = await rollback('mounted', { version: 1 });
    expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([
      404,
      'volume_not_found',
      'volumes[0].volumeId',
    ]);
  });
});

describe('a rollback after a restart', () => {
  it('asks the limits of today and the registry again', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-rollback-'));
    const registry = await startRegistry();
    try {
      const first = await pushImage(registry, 'shop/web:1');
      const second = await pushImage(registry, 'shop/web:2', { env: ['A=2'] });
      const image = (tag: string) => `${registry.host}/shop/web:${tag}`;
      const before = await startControlPlane({ dataDir });
      for (const name of ['large', 'pulled']) {
        const body = { name, image: image(name === 'large' ? '2' : '1'), replicas: name === 'large' ? 5 : 1 };
        expect((await before.api.post('/api/v1/deployments', body)).body['warnings']).toEqual([]);
      }
      await before.api.put('/api/v1/deployments/large', { replicas: 1 });
      await before.api.put('/api/v1/deployments/pulled', { image: image('2') });
      await before.close();
      await deleteManifest(registry, 'shop/web', first.digest);

      const after = await startControlPlane({ dataDir, config: { maxReplicasPerDeployment: 3 } });
      const roll = (name: string) => after.api.post(`/api/v1/deployments/${name}/rollback`, { version: 1 });
      expect((await roll('large')).body).toMatchObject({ code: 'replicas_out_of_range', field: 'replicas' });
      expect((await roll('pulled')).body).toMatchObject({ code: 'image_not_found', field: 'image' });
      await pushImage(registry, 'shop/web:1');
      expect((await roll('pulled')).body).toMatchObject({ image: image('1'), warnings: [] });
      expect(second.digest).not.toBe(first.digest);
      await after.close();
    } finally {
      await registry.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

describe('an archive', () => {
  const read = (path: string, token = shop.tokens.viewer) =>
    plane.api.get(`/api/v1/archives/deployments/${path}`, as(token));

  it('gives one version, also after the deletion', async () => {
    await threeVersions('kept');
    await accepted(plane.api.delete('/api/v1/deployments/kept', deployer()));
    const versions = await archive('kept');
    for (const version of [1, 2, 3, 4])
      expect((await read(`kept/${version}`)).body).toEqual(versions[version - 1]);
    expect(versions[3]?.['change']).toBe('deleted');
  });

  it('compares two versions field by field, in both directions', async () => {
    await threeVersions('compared');
    const answer = await read('compared/diff?from=2&to=3');
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({
      name: 'compared',
      from: { version: 2, change: 'updated' },
      to: { version: 3, change: 'updated' },
      differences: [
        { field: 'environment.LOG_LEVEL', from: 'info', to: null },
        { field: 'environment.MODE', from: null, to: 'fast' },
        { field: 'healthCheck', from: null, to: { type: 'exec', command: ['wget -qO- localhost'] } },
        { field: 'labels', from: { team: 'shop' }, to: null },
      ],
    });
    expect(answer.body['from']).not.toHaveProperty('spec');
    const back = await read('compared/diff?from=3&to=2');
    expect((back.body['differences'] as Json[])[1]).toEqual({
      field: 'environment.MODE',
      from: 'fast',
      to: null,
    });
    expect((await read('compared/diff?from=2&to=2')).body['differences']).toEqual([]);
  });

  it.each([
    ['absent/9', 404, 'archive_version_not_found', 'version'],
    ['absent/one', 404, 'archive_version_not_found', 'version'],
    ['absent/-1', 404, 'archive_version_not_found', 'version'],
    ['absent/diff?from=9&to=1', 404, 'archive_version_not_found', 'from'],
    ['absent/diff?from=1&to=9', 404, 'archive_version_not_found', 'to'],
    ['absent/diff?from=1', 400, 'query_parameter_invalid', 'to'],
    ['absent/diff?from=x&to=1', 400, 'query_parameter_invalid', 'from'],
    ['absent/diff?from=1&to=1&at=2', 400, 'query_parameter_unknown', 'at'],
    ['absent/1?full=true', 400, 'query_parameter_unknown', 'full'],
  ])('of %s is refused', async (path, status, code, field) => {
    if ((await plane.api.get('/api/v1/deployments/absent', deployer())).status === 404)
      await threeVersions('absent');
    const answer = await read(path);
    expect([answer.status, answer.body['code'], answer.body['field']]).toEqual([status, code, field]);
  });

  it('of another tenant is as if there were none', async () => {
    await threeVersions('private');
    const { tokens } = await plane.tenant('bank');
    const foreign = await read('private/1', tokens.viewer);
    const missing = await read('no-such/1', tokens.viewer);
    expect(foreign.status).toBe(404);
    expect(foreign.body).toEqual(missing.body);
    expect((await read('private/diff?from=1&to=2', tokens.viewer)).body['code']).toBe(
      'archive_version_not_found',
    );
  });
});
