import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { type Caller, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';

const IMAGE = 'localhost:1/shop/web:1.0.0';
const WEB = { kind: 'Deployment', name: 'web', image: IMAGE };
const PAST = { kind: 'Job', name: 'dump', image: IMAGE, schedule: '0 3 * * *' };
const SECRET = { kind: 'Secret', namespace: 'resources', name: 'spare', generate: { keys: ['password'] } };

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let other: Awaited<ReturnType<ControlPlane['tenant']>>;
let instance: string;
let volume: string;

/** All that these operations can be asked for, by who has no business with it. */
const ORDERS: readonly (readonly [string, string, unknown?])[] = [
  ['POST', '/api/v1/apply?dryRun=true', [WEB]],
  ['DELETE', '/api/v1/secrets/resources/spare'],
  ['POST', '/api/v1/secrets', SECRET],
  ['PUT', '/api/v1/jobs/dump', { schedule: '1 3 * * *' }],
  ['PUT', '/api/v1/deployments/web?dryRun=true', { replicas: 2 }],
  ['DELETE', '/api/v1/deployments/web?dryRun=true'],
  ['POST', '/api/v1/deployments/web/rollback?dryRun=true', { version: 1 }],
];

const ofInstance = (): typeof ORDERS => [
  ['POST', `/api/v1/deployments/web/instances/${instance}/restart`],
  ['POST', `/api/v1/deployments/web/instances/${instance}/stop`],
  ['POST', `/api/v1/deployments/web/instances/${instance}/signal`, { signal: 'SIGHUP' }],
];

async function codes(call: Caller, orders: typeof ORDERS, headers = {}): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const [method, path, body] of orders) found.push((await call(method, path, body, headers)).body.code);
  return found;
}

const KINDS = /\/(?:deployments|jobs|job-orders|instances|secrets|credentials|specs)\//;

/** Nothing of the tenant changes meanwhile. */
async function unchanged(ask: () => Promise<void>): Promise<void> {
  const records = async () =>
    (await plane.store.kv.range('')).entries
      .filter(({ key }) => key.includes(shop.id) && KINDS.test(key))
      .map(({ key, value }) => [key, value]);
  const before = await records();
  expect(before).not.toEqual([]);
  await ask();
  expect(await records()).toEqual(before);
}

async function as(tenant: typeof shop, role: string): Promise<Caller> {
  const { token } = (await tenant.call('POST', '/api/v1/tokens', { name: role, role })).body;
  return plane.as(token);
}

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  other = await plane.tenant('other');
  await flow.connected('n1', shop);
  ({ id: instance } = await flow.placed(shop, 'web', 'n1'));
  await shop.call('POST', '/api/v1/jobs', PAST);
  await shop.call('POST', '/api/v1/secrets', SECRET);
  const made = await shop.call('POST', '/api/v1/dvm/volumes', {
    name: 'data',
    class: 'ephemeral',
    type: 'tmpfs',
    sizeBytes: 1,
  });
  volume = made.body.id;
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

attack(
  'anybody',
  'plans, changes of jobs, deletions of secrets and orders to instances without a token',
  () =>
    unchanged(async () => {
      const found = await codes(plane.as('berth_pat_made_up'), [...ORDERS, ...ofInstance()]);
      expect(new Set(found)).toEqual(new Set(['unauthenticated']));
    }),
);

attack('a viewer', 'plans, changes of jobs, deletions of secrets and orders to instances', () =>
  unchanged(async () => {
    const found = await codes(await as(shop, 'viewer'), [...ORDERS, ...ofInstance()]);
    expect(new Set(found)).toEqual(new Set(['role_forbidden']));
  }),
);

attack('a deployer', 'a secret in a set of documents, which it may not write', () =>
  unchanged(async () => {
    const deployer = await as(shop, 'deployer');
    const plan = await deployer('POST', '/api/v1/apply?dryRun=true', [SECRET, WEB]);
    const [secret, web] = plan.body.documents;
    expect(secret).toMatchObject({ action: 'refused', rejections: [{ code: 'role_forbidden' }] });
    expect(web.action).not.toBe('refused');
    expect((await deployer('DELETE', '/api/v1/secrets/resources/spare')).body.code).toBe('role_forbidden');
  }),
);

attack(
  'a deployer',
  'a secret that somebody put there, by a reference first and its values with the next update',
  async () => {
    await shop.call('PUT', '/api/v1/secrets/resources/put', { values: { password: 'put there' } });
    const deployer = await as(shop, 'deployer');
    const entry = { name: 'DB', vault_path: 'resources/put', anchor: 'process' };
    const body = { name: 'evil', image: 'localhost:1/shop/web:1', replicas: 0, secrets: [entry] };
    expect((await deployer('POST', '/api/v1/deployments', body)).status).toBe(201);
    const secrets = [{ ...entry, values: { password: 'mine' } }];
    const { code } = (await deployer('PUT', '/api/v1/deployments/evil', { secrets })).body;
    expect(code).toBe('role_forbidden');
    expect((await shop.call('GET', '/api/v1/secrets/resources/put')).body.version).toBe(1);
    await shop.call('DELETE', '/api/v1/deployments/evil');
    await shop.call('DELETE', '/api/v1/secrets/resources/put');
  },
);

attack('a deployer of another tenant', 'a set of documents that names records of this tenant', () =>
  unchanged(async () => {
    const path = '/api/v1/apply?dryRun=true';
    const mounting = { ...WEB, name: 'thief', volumes: [{ volumeId: volume, mountPath: '/data' }] };
    const plan = await other.call('POST', path, [WEB, PAST, mounting]);
    // What is there of the same name is not its own: to it nothing exists.
    expect(plan.body.documents.map(({ action }: { action: string }) => action)).toEqual([
      'create',
      'refused',
      'create',
    ]);
    expect(JSON.stringify(plan.body)).toContain('volume_not_found');
    expect(JSON.stringify(plan.body)).not.toContain('n1');
    const foreign = await other.call('POST', path, [WEB], { 'x-tenant-id': shop.id });
    expect(foreign.body.code).toBe('tenant_forbidden');
  }),
);

attack('a deployer of another tenant', 'jobs, secrets and instances of this tenant by name and id', () =>
  unchanged(async () => {
    const ids = ofInstance().map(([, path]) => path);
    expect(await codes(other.call, [...ORDERS.slice(1), ...ofInstance()])).toEqual([
      'secret_not_found',
      undefined,
      'job_not_found',
      ...Array.from({ length: 3 }, () => 'deployment_not_found'),
      ...ids.map(() => 'deployment_not_found'),
    ]);
    await other.call('POST', '/api/v1/deployments', { ...WEB, replicas: 0 });
    expect(new Set(await codes(other.call, ofInstance()))).toEqual(new Set(['instance_not_found']));
    const listed = await other.call('GET', '/api/v1/secrets');
    expect(listed.body.map(({ consumers }: { consumers: readonly unknown[] }) => consumers)).toEqual([[]]);
    const header = { 'x-tenant-id': shop.id };
    const found = await codes(other.call, [...ORDERS, ...ofInstance()], header);
    expect(new Set(found)).toEqual(new Set(['tenant_forbidden']));
  }),
);

attack('a deployer of another tenant', 'the id of a plan that was made for this tenant', async () => {
  const body = { replicas: 0, labels: { a: 'b' } };
  const { plan } = (await shop.call('PUT', '/api/v1/deployments/web?dryRun=true', body)).body;
  const tried = await other.call('PUT', `/api/v1/deployments/web?plan=${plan.id}`, body);
  expect(tried.body.code).toBe('plan_outdated');
  expect((await other.call('GET', '/api/v1/deployments/web')).body.labels).toBeUndefined();
  expect((await shop.call('GET', '/api/v1/deployments/web')).body.labels).toBeUndefined();
});
