import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/harness/api-client.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
let shop: TestTenant;

const by = (role: 'tenant-admin' | 'secret-writer' | 'viewer' = 'tenant-admin') => ({
  token: shop.tokens[role],
});
const post = (path: string, body: unknown): Promise<Answer> => plane.api.post(`/api/v1/${path}`, body, by());

interface Planned {
  readonly index: number;
  readonly kind: string;
  readonly name: string;
  readonly action: string;
  readonly changes: readonly { readonly field: string }[];
  readonly warnings: readonly { readonly code: string }[];
  readonly rejections: readonly { readonly code: string; readonly field: string; readonly doc: string }[];
}

async function planned(documents: unknown, query = ''): Promise<readonly Planned[]> {
  const answer = await post(`apply?dryRun=true${query}`, documents);
  expect(answer.status, answer.text).toBe(200);
  return (answer.body as unknown as { readonly documents: readonly Planned[] }).documents;
}

const told = (documents: readonly Planned[]): readonly string[] =>
  documents.map(({ kind, name, action, rejections }) =>
    [kind, name, action, ...rejections.map(({ code, field }) => `${code} ${field}`)].join(' '),
  );

const GIB = 2 ** 30;
const DATA = { kind: 'Volume', name: 'pg-data', class: 'replicated', type: 'volume', sizeBytes: GIB };
const DB = {
  kind: 'Deployment',
  name: 'db',
  image: UNREACHABLE_IMAGE,
  volumes: [{ volume: 'pg-data', mountPath: '/data' }],
  access: { from: ['web'] },
};
const WEB = { name: 'web', image: UNREACHABLE_IMAGE, dependsOn: { db: 'started' } };
const DUMP = {
  kind: 'Job',
  name: 'dump',
  image: UNREACHABLE_IMAGE,
  schedule: '0 3 * * *',
  volumes: [{ volume: 'pg-data', mountPath: '/data', readOnly: true }],
};

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
});

afterAll(() => plane.close());

describe('the plan of a set of documents', () => {
  it('judges each as if those before it existed, and stores nothing', async () => {
    const plan = await planned([WEB, DUMP, DB, DATA]);
    expect(told(plan)).toEqual([
      'Volume pg-data create',
      'Deployment db create',
      'Deployment web create',
      'Job dump create',
    ]);
    expect(plan.map(({ index }) => index)).toEqual([3, 2, 0, 1]);
    const codes = plan.flatMap(({ warnings }) => warnings.map(({ code }) => code));
    expect(codes).not.toContain('depends_on_unknown');
    for (const path of ['deployments', 'jobs', 'dvm/volumes', 'events'])
      expect((await plane.api.get(`/api/v1/${path}`, by())).text, path).toBe('[]');
  });

  it('says of each what is refused: the first, or everything, and goes on with the others', async () => {
    const wrong = { ...WEB, name: 'worker', replicas: -1, helthCheck: {} };
    const orphan = { ...DUMP, name: 'orphan', volumes: [{ volume: 'gone', mountPath: '/data' }] };
    expect(told(await planned([wrong, orphan, DATA, { kind: 'Queue', name: 'jobs' }]))).toEqual([
      'Volume pg-data create',
      'Deployment worker refused field_unknown helthCheck',
      'Job orphan refused volume_not_found volumes[0].volume',
      ' jobs refused manifest_wrong_kind kind',
    ]);
    const [, worker] = await planned([wrong, DATA], '&all=true');
    expect(worker?.rejections.map(({ code }) => code)).toEqual(['field_unknown', 'replicas_negative']);
    expect(worker?.rejections[0]?.doc).toBe(`${plane.url}/docs/errors/field_unknown`);
  });

  it('finds what two documents of the set do to one another', async () => {
    const circle = [
      { ...WEB, name: 'a', dependsOn: { b: 'started' } },
      { ...WEB, name: 'b', dependsOn: { a: 'started' } },
    ];
    expect(told(await planned(circle)).join()).toContain('depends_on_cycle dependsOn.');
    const second = { ...DB, name: 'second' };
    expect(told(await planned([DATA, DB, second, WEB]))).toContain(
      'Deployment second refused volume_access_mode_conflict volumes[0].readOnly',
    );
  });

  it('tells what is there already from what changes, and from what cannot be changed', async () => {
    expect((await post('deployments', { ...WEB, name: 'front' })).status).toBe(201);
    const made = await post('dvm/volumes', { ...DATA, kind: undefined, name: 'kept' });
    expect(made.status, made.text).toBe(201);
    const plan = await planned([
      { ...WEB, name: 'front', replicas: 3 },
      { ...DATA, name: 'kept', sizeBytes: 2 * GIB },
    ]);
    expect(told(plan)).toEqual([
      'Volume kept refused volume_already_exists sizeBytes',
      'Deployment front change',
    ]);
    expect(plan[1]?.changes).toEqual([{ field: 'replicas', from: 1, to: 3 }]);
    const same = await planned([
      { ...WEB, name: 'front' },
      { ...DATA, name: 'kept' },
    ]);
    expect(told(same)).toEqual(['Volume kept unchanged', 'Deployment front unchanged']);
  });

  it('waits for a silent registry once', async () => {
    const started = performance.now();
    const set = Array.from({ length: 12 }, (_, at) => ({
      name: `w${at}`,
      image: `${UNREACHABLE_IMAGE}${at}`,
    }));
    expect(await planned(set)).toHaveLength(12);
    expect(performance.now() - started).toBeLessThan(4000);
  });

  it('is for those who may write what is in it', async () => {
    const as = (role: Parameters<typeof by>[0]) =>
      plane.api.post('/api/v1/apply?dryRun=true', [DATA, WEB], by(role));
    expect((await as('viewer')).body).toMatchObject({ code: 'role_forbidden' });
    expect((await as('secret-writer')).body).toMatchObject({ code: 'role_forbidden' });
  });
});

describe('a quota of records', () => {
  const limit = (records: object) =>
    plane.api.put('/api/v1/tenants/yard/quota', { records }, { token: plane.adminToken });
  const HOOK = {
    kind: 'Webhook',
    name: 'pager',
    url: 'https://hooks.example.com/berth',
    signing: { vault_path: 'resources/pager', key: 'key' },
  };
  let token: string;

  beforeAll(async () => {
    token = (await plane.tenant('yard')).tokens['tenant-admin'];
  });

  it('refuses a dry run what it refuses the write', async () => {
    expect((await limit({ deployments: 0, jobs: 0, volumes: 0, webhooks: 0 })).status).toBe(200);
    const { kind: _kind, ...volume } = DATA;
    const { kind: _webhook, ...hook } = HOOK;
    for (const [path, kind, body] of [
      ['deployments', 'deployments', { name: 'web', image: UNREACHABLE_IMAGE }],
      ['jobs', 'jobs', { ...DUMP, volumes: [] }],
      ['dvm/volumes', 'volumes', volume],
      ['webhooks', 'webhooks', hook],
    ] as const) {
      const refused = { code: 'quota_exceeded', field: `quota.records.${kind}` };
      for (const query of ['', '?dryRun=true'])
        expect(
          (await plane.api.post(`/api/v1/${path}${query}`, body, { token })).body,
          path + query,
        ).toMatchObject(refused);
    }
  });

  it('counts what the documents of a set before it would add', async () => {
    expect((await limit({ deployments: 1 })).status).toBe(200);
    const set = ['first', 'second', 'third'].map((name) => ({ name, image: UNREACHABLE_IMAGE }));
    const plan = async (documents: unknown) => {
      const { body } = await plane.api.post('/api/v1/apply?dryRun=true', documents, { token });
      return told((body as unknown as { readonly documents: readonly Planned[] }).documents);
    };
    const refused = (name: string) => `Deployment ${name} refused quota_exceeded quota.records.deployments`;
    expect(await plan(set)).toEqual(['Deployment first create', refused('second'), refused('third')]);
    expect((await plane.api.post('/api/v1/deployments', set[0], { token })).status).toBe(201);
    expect(await plan(set.map((one) => ({ ...one, replicas: 2 })))).toEqual([
      'Deployment first change',
      refused('second'),
      refused('third'),
    ]);
  });
});
