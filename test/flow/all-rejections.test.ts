import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../src/sdk/index.ts';
import type { Answer, CallOptions } from '../support/harness/api-client.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
let shop: TestTenant;

const by = () => ({ token: shop.tokens['tenant-admin'] });
const post = (path: string, body: unknown): Promise<Answer> => plane.api.post(`/api/v1/${path}`, body, by());
const put = (path: string, body: unknown): Promise<Answer> => plane.api.put(`/api/v1/${path}`, body, by());

function pairs(answer: Answer): readonly string[] {
  expect(answer.status, answer.text).toBe(200);
  const { rejections } = answer.body as { rejections: readonly { code: string; field: string }[] };
  return rejections.map(({ code, field }) => `${code} ${field}`);
}

/** A mistake of each sort: of the shape, of rules, of what is stored. */
const WRONG = {
  name: 'web',
  image: 'nginx',
  replicas: -1,
  helthCheck: {},
  environment: { '1A': 'x', OK: 'y', '2B': 'z' },
  ports: [{ container: 80 }, { container: 99_999 }, { container: 'x' }, { container: 70_000 }],
  dependsOn: { web: 'started' },
  nodeId: 'nowhere',
} as const;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
  const made = await post('deployments', { name: 'taken', image: UNREACHABLE_IMAGE });
  expect(made.status, made.text).toBe(201);
});

afterAll(() => plane.close());

describe('all rejections at once', () => {
  it('answers a dry run with every one, in the order in which they would be met', async () => {
    const found = pairs(await post('deployments?dryRun=true&all=true', WRONG));
    expect(found).toEqual([
      'field_unknown helthCheck',
      'field_type_invalid ports[2].container',
      'image_required image',
      'replicas_negative replicas',
      'environment_invalid environment.1A',
      'environment_invalid environment.2B',
      'depends_on_cycle dependsOn.web',
      'ports_invalid ports[1].container',
      'ports_invalid ports[3].container',
      'node_candidates_unresolvable nodeId',
    ]);
  });

  it('is the first one with the others in a header, and stores nothing', async () => {
    const alone = await post('deployments', WRONG);
    const all = await post('deployments?all=true', WRONG);
    expect({ status: all.status, body: all.body }).toEqual({ status: alone.status, body: alone.body });
    expect(alone.headers['x-berth-rejections']).toBeUndefined();
    const header = all.headers['x-berth-rejections']?.toString() ?? '';
    expect(header.split(', ')).toHaveLength(10);
    expect(header).toMatch(/^field_unknown helthCheck, field_type_invalid ports\[2\]\.container, /);
    expect((await plane.api.get('/api/v1/deployments/web', by())).status).toBe(404);
  });

  it('keeps the header small, whatever is sent', async () => {
    const environment = Object.fromEntries(
      Array.from({ length: 100 }, (_, at) => [`${at}-${'ä'.repeat(40)}`, 'x']),
    );
    const answer = await post('deployments?all=true', { name: 'web', image: UNREACHABLE_IMAGE, environment });
    const header = answer.headers['x-berth-rejections']?.toString() ?? '';
    expect(Buffer.byteLength(header)).toBeLessThanOrEqual(4096);
    expect(header.split(', ').length).toBeLessThanOrEqual(32);
  });

  it('has nothing to say of what would be taken, and takes it', async () => {
    const body = { name: 'web', image: UNREACHABLE_IMAGE };
    expect(pairs(await post('deployments?dryRun=true&all=true', body))).toEqual([]);
    expect((await post('deployments?all=true', body)).status).toBe(201);
    expect((await put('deployments/web?all=true', { replicas: 0 })).status).toBe(200);
  });

  it('judges an update by what it sends', async () => {
    const found = pairs(
      await put('deployments/taken?dryRun=true&all=true', { replicas: 'two', user: '', nodeId: 'nowhere' }),
    );
    expect(found).toEqual([
      'replicas_out_of_range replicas',
      'user_invalid user',
      'node_candidates_unresolvable nodeId',
    ]);
    expect(pairs(await put('deployments/none?dryRun=true&all=true', { replicas: -1 }))).toEqual([
      'deployment_not_found name',
    ]);
  });

  it('names words of a check where they were sent, each once', async () => {
    const command = ['CMD', 'check', '--password=hunter2-Zq81xPw0', 'db', '--token=hunter2-Xw72kLm9'];
    const body = { name: 'new', image: 'x', healthCheck: { type: 'exec', command } };
    expect(pairs(await post('deployments?dryRun=true&all=true', body))).toEqual([
      'image_required image',
      'plaintext_credential_in_environment healthCheck.command[2]',
      'plaintext_credential_in_environment healthCheck.command[4]',
    ]);
    const alone = await post('deployments', { ...body, image: UNREACHABLE_IMAGE });
    expect(alone.body['field']).toBe('healthCheck.command[2]');
  });

  it('knows volumes by their names', async () => {
    const volume = { name: 'ob', class: 'ephemeral', type: 'volume', sizeBytes: 1 };
    const made = await post('dvm/volumes', volume);
    expect(made.status, made.text).toBe(201);
    const volumes = [{ volume: 'ob', mountPath: '/data' }];
    const body = { name: 'new', image: UNREACHABLE_IMAGE, volumes };
    expect(pairs(await post('deployments?dryRun=true&all=true', { ...body, replicas: -1 }))).toEqual([
      'replicas_negative replicas',
      'volume_not_ready volumes[0].volume',
    ]);
    const alone = await post('deployments', body);
    expect([alone.body['field'], alone.body['received']]).toEqual(['volumes[0].volume', 'ob']);
  });

  it('names what exists beside what is wrong', async () => {
    const found = pairs(await post('deployments?dryRun=true&all=true', { name: 'taken', image: 'x' }));
    expect(found).toEqual(['image_required image', 'deployment_already_exists name']);
  });

  it('works for jobs, networks and volumes', async () => {
    const job = { name: 'J', image: 'x', schedule: 'never', retries: -1 };
    expect(pairs(await post('jobs?dryRun=true&all=true', job))).toEqual([
      'deployment_name_invalid name',
      'image_required image',
      'job_invalid schedule',
      'job_invalid retries',
    ]);
    expect(pairs(await post('networks?dryRun=true&all=true', { driver: 'ipvlan', mtu: 9000 }))).toEqual([
      'network_option_unsupported_on_agent mtu',
      'network_name_invalid name',
      'network_driver_unsupported driver',
    ]);
    const volume = { class: 'replicated', type: 'x', sizeBytes: 1, nodeld: 'a' };
    expect(pairs(await post('dvm/volumes?dryRun=true&all=true', volume))).toEqual([
      'field_unknown nodeld',
      'volume_name_invalid name',
      'volume_type_unknown type',
      'volume_size_invalid sizeBytes',
    ]);
  });

  it('refuses the question itself before anything is stored', async () => {
    const answer = await post('deployments?all=yes', { name: 'later', image: UNREACHABLE_IMAGE });
    expect(answer.body).toMatchObject({ code: 'query_parameter_invalid', field: 'all' });
    expect((await plane.api.get('/api/v1/deployments/later', by())).status).toBe(404);
  });

  it('never says what a field holds', async () => {
    const secret = 'postgres://u:hunter2hunter2@db/x';
    const answer = await post('deployments?dryRun=true&all=true', {
      ...WRONG,
      environment: { DATABASE_PASSWORD: secret, TOKEN: 'ghp_0123456789abcdefghijABCDEFGHIJ012345' },
    });
    expect(pairs(answer).filter((pair) => pair.includes('environment'))).toHaveLength(2);
    expect(answer.text).not.toMatch(/hunter2|ghp_/);
  });

  it('is a call of the client', async () => {
    const client = new Client({ url: plane.url, token: by().token });
    const body = { name: 'web', image: 'nginx', replicas: -1 };
    const found = await client.rejections('POST /api/v1/deployments', { body });
    expect(found.map(({ field, doc }) => [field, doc.startsWith('http')])).toEqual([
      ['image', true],
      ['replicas', true],
      ['name', true],
    ]);
  });
});

describe('the framework and the way past it', () => {
  it.each<readonly [string, string, string, CallOptions]>([
    ['a record', 'GET', 'deployments/taken', {}],
    ['a list', 'GET', 'deployments', {}],
    ['a record that is not there', 'GET', 'deployments/none', {}],
    ['a read by a stranger', 'GET', 'deployments/taken', { token: 'nobody' }],
    ['a read for another tenant', 'GET', 'deployments/taken', { tenant: 'platform' }],
    [
      'a create of what there is',
      'POST',
      'deployments',
      { body: { name: 'taken', image: UNREACHABLE_IMAGE } },
    ],
    ['a create that breaks a rule', 'POST', 'deployments', { body: WRONG }],
    ['no JSON', 'POST', 'deployments', { raw: '{' }],
    ['a stranger that writes', 'POST', 'deployments', { body: WRONG, token: null }],
    ['a read by https', 'GET', 'deployments/taken', { headers: { 'x-forwarded-proto': 'https' } }],
    ['a header that came twice', 'GET', 'deployments/taken', { headers: { 'if-match': ['"1"', '"2"'] } }],
  ])('answer %s alike', async (_what, method, path, more) => {
    const options = { ...by(), ...more, headers: { 'x-request-id': 'same', ...more.headers } };
    // A query, be it empty, is the framework's.
    const [past, through] = await Promise.all(
      ['', '?'].map((query) => plane.api.send(method, `/api/v1/${path}${query}`, options)),
    );
    const plain = ({ status, headers: { date: _date, ...rest }, text }: Answer) => ({ status, rest, text });
    expect(past && plain(past)).toEqual(through && plain(through));
    expect(past?.headers['x-request-id']).toBe('same');
  });
});
