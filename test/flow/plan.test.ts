import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

const DEPLOYMENTS = '/api/v1/deployments';
const image = (tag: string) => `localhost:1/shop/web:${tag}`;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
const agents: WorkingAgent[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  for (const name of ['n1', 'n2']) agents.push(new WorkingAgent((await flow.connected(name, shop)).agent));
});
afterAll(async () => {
  for (const agent of agents) agent.stop();
  flow.close();
  await plane.close();
});

async function running(body: Readonly<Record<string, unknown>> & { readonly name: string }) {
  const answer = await shop.call('POST', DEPLOYMENTS, { image: image('1.0.0'), ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return eventually(
    async () => (await shop.call('GET', `${DEPLOYMENTS}/${body.name}`)).body,
    ({ status }) => status.phase === 'Running',
  );
}

async function planned(name: string, body: object) {
  const answer = await shop.call('PUT', `${DEPLOYMENTS}/${name}?dryRun=true`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.plan;
}

describe('the plan of a change', () => {
  it('says of each instance what becomes of it, and why', async () => {
    await running({ name: 'web', replicas: 3, environment: { LEVEL: 'info' } });
    const same = await planned('web', { replicas: 3 });
    expect(same.actions.map(({ action }: { action: string }) => action)).toEqual(['keep', 'keep', 'keep']);
    const fewer = await planned('web', { replicas: 1 });
    expect(fewer.actions.filter(({ action }: { action: string }) => action === 'stop')).toMatchObject([
      { why: 'replicas 3 → 1' },
      { why: 'replicas 3 → 1' },
    ]);
    const more = await planned('web', { replicas: 4 });
    expect(more.actions.at(-1)).toMatchObject({
      action: 'create',
      to: expect.any(String),
      why: 'replicas 3 → 4',
    });
    const other = await planned('web', {
      image: image('2.0.0'),
      environment: { LEVEL: 'debug' },
      replicas: 4,
    });
    expect(other.actions).toMatchObject([
      { action: 'replace', how: 'start-first', why: 'environment.LEVEL, image changed' },
      { action: 'replace', to: expect.any(String) },
      { action: 'replace' },
      { action: 'create' },
    ]);
    const none = await planned('web', { replicas: 0 });
    expect(none.actions.every(({ action }: { action: string }) => action === 'stop')).toBe(true);
  });

  it('says that a host port is given up before it is taken again, and which', async () => {
    await running({ name: 'front', replicas: 2, ports: [{ container: 80, host: 8080 }] });
    const { actions } = await planned('front', { image: image('2.0.0') });
    expect(actions).toHaveLength(2);
    for (const one of actions)
      expect(one).toMatchObject({
        action: 'replace',
        how: 'stop-first',
        why: 'image changed; it stops first: old instances hold host port 8080 on every node that would take a new one',
      });
  });

  it('says that an update waits where there is room beside none and none may stop', async () => {
    await running({
      name: 'large',
      replicas: 1,
      nodeId: 'n2',
      resources: { limits: { memory: '5Gi' }, requests: { memory: '5Gi' } },
    });
    const { actions, unplaced } = await planned('large', { image: image('2.0.0') });
    expect(actions).toEqual([
      {
        action: 'replace',
        instance: expect.any(String),
        node: 'n2',
        why: 'image changed; it stays until a node takes its successor',
      },
    ]);
    expect(unplaced).toMatchObject({ count: 1 });
  });

  it('has one id for one world, which a beat of health does not change', async () => {
    const first = await planned('web', { image: image('3.0.0') });
    expect((await planned('web', { image: image('3.0.0') })).id).toBe(first.id);
    expect((await planned('web', { image: image('3.0.1') })).id).not.toBe(first.id);
  });

  it('is applied by its id, once', async () => {
    const body = { environment: { LEVEL: 'warn' } };
    const { id } = await planned('web', body);
    expect((await shop.call('PUT', `${DEPLOYMENTS}/web?plan=${id}`, body)).status).toBe(200);
    const again = await shop.call('PUT', `${DEPLOYMENTS}/web?plan=${id}`, body);
    expect(again.status).toBe(412);
    expect(again.body).toMatchObject({ code: 'plan_outdated', field: 'plan', received: id });
    expect(again.body.why).toContain('the record was changed since');
  });

  it('is refused for another document, and when a node that it chose takes nothing any more', async () => {
    const body = { name: 'late', image: image('1.0.0'), replicas: 2 };
    const dry = await shop.call('POST', `${DEPLOYMENTS}?dryRun=true`, body);
    const { id, instances } = dry.body.plan;
    const other = await shop.call('POST', `${DEPLOYMENTS}?plan=${id}`, { ...body, replicas: 1 });
    expect(other.body.why).toContain('the document');
    const node = instances[0].node;
    expect((await shop.call('POST', `/api/v1/nodes/${node}/cordon`)).status).toBe(200);
    const moved = await shop.call('POST', `${DEPLOYMENTS}?plan=${id}`, body);
    expect([moved.status, moved.body.code]).toEqual([412, 'plan_outdated']);
    expect(moved.body.why).toContain('instances or nodes moved');
    expect((await shop.call('GET', `${DEPLOYMENTS}/late`)).status).toBe(404);
    expect((await shop.call('POST', `/api/v1/nodes/${node}/uncordon`)).status).toBe(200);
    expect((await shop.call('POST', `${DEPLOYMENTS}?plan=${id}`, body)).status).toBe(201);
  });

  it('names a drained node as the reason', async () => {
    await running({ name: 'moving', replicas: 1, nodeId: 'n1' });
    expect((await shop.call('POST', '/api/v1/nodes/n1/drain')).status).toBe(200);
    const { actions } = await planned('moving', { replicas: 1 });
    expect(actions).toMatchObject([
      {
        action: 'replace',
        node: 'n1',
        why: 'node n1 is being drained; it stays until a node takes its successor',
      },
    ]);
    expect((await shop.call('POST', '/api/v1/nodes/n1/uncordon')).status).toBe(200);
  });

  it('of a job says where it runs, and is applied by its id', async () => {
    const body = { name: 'dump', image: image('1.0.0') };
    const { plan } = (await shop.call('POST', '/api/v1/jobs?dryRun=true', body)).body;
    expect(plan.actions).toMatchObject([{ action: 'create', to: expect.any(String) }]);
    const stale = await shop.call('POST', `/api/v1/jobs?plan=${plan.id}`, { ...body, image: image('2.0.0') });
    expect(stale.body.code).toBe('plan_outdated');
    expect((await shop.call('POST', `/api/v1/jobs?plan=${plan.id}`, body)).status).toBe(201);
  });
});

describe('the plan of a deletion and of a rollback', () => {
  it('says what stops, deletes nothing, and is carried out by its id, once', async () => {
    await running({ name: 'gone', replicas: 2 });
    const dry = await shop.call('DELETE', `${DEPLOYMENTS}/gone?dryRun=true`);
    expect(dry.status, JSON.stringify(dry.body)).toBe(200);
    expect(dry.body.plan.actions).toMatchObject([
      { action: 'stop', instance: expect.any(String), node: expect.any(String), why: 'gone is deleted' },
      { action: 'stop', why: 'gone is deleted' },
    ]);
    await running({ name: 'goes-on', replicas: 1 });
    expect((await shop.call('PUT', `${DEPLOYMENTS}/gone`, { replicas: 1 })).status).toBe(200);
    const stale = await shop.call('DELETE', `${DEPLOYMENTS}/gone?plan=${dry.body.plan.id}`);
    expect([stale.status, stale.body.code]).toEqual([412, 'plan_outdated']);
    await flow.instances(shop, 'gone', 1);
    const { plan } = (await shop.call('DELETE', `${DEPLOYMENTS}/gone?dryRun=true`)).body;
    expect((await shop.call('DELETE', `${DEPLOYMENTS}/gone?plan=${plan.id}`)).status).toBe(200);
    expect((await shop.call('GET', `${DEPLOYMENTS}/gone`)).status).toBe(404);
    expect((await shop.call('DELETE', `${DEPLOYMENTS}/gone?plan=${plan.id}`)).body.code).toBe(
      'deployment_not_found',
    );
  });

  it('is that of the version that is gone back to', async () => {
    await running({ name: 'back', replicas: 1, environment: { LEVEL: 'info' } });
    await shop.call('PUT', `${DEPLOYMENTS}/back`, { environment: { LEVEL: 'debug' } });
    const rollback = (query: string) =>
      shop.call('POST', `${DEPLOYMENTS}/back/rollback?${query}`, { version: 1 });
    const { plan } = (await rollback('dryRun=true')).body;
    expect(plan.diff).toMatchObject([{ field: 'environment.LEVEL', from: 'debug', to: 'info' }]);
    await shop.call('PUT', `${DEPLOYMENTS}/back`, { environment: { LEVEL: 'warn' } });
    expect((await rollback(`plan=${plan.id}`)).body.code).toBe('plan_outdated');
    // Its instances are still on their way from one to the other.
    const done = await eventually(
      async () => rollback(`plan=${(await rollback('dryRun=true')).body.plan.id}`),
      ({ status }) => status !== 412,
    );
    expect([done.status, done.body.environment]).toEqual([200, { LEVEL: 'info' }]);
  });
});

describe('between the look at a plan and its commit', () => {
  /** Something else happens right before the commit that stores the deployment. */
  async function overtaken(name: string, plan: string, body: object, meanwhile: () => Promise<unknown>) {
    const { kv } = plane.store;
    const commit = kv.commit.bind(kv);
    let isFirst = true;
    const spy = vi.spyOn(kv, 'commit').mockImplementation(async (parts) => {
      const stores = parts.puts?.some(({ key }) => key.endsWith(`/deployments/${name}`)) ?? false;
      if (stores && isFirst) {
        isFirst = false;
        await meanwhile();
      }
      return commit(parts);
    });
    try {
      return await shop.call('PUT', `${DEPLOYMENTS}/${name}?plan=${plan}`, body);
    } finally {
      spy.mockRestore();
      expect(isFirst).toBe(false);
    }
  }

  const quota = (containers: number | null) =>
    plane.admin('PUT', '/api/v1/tenants/shop/quota', containers === null ? {} : { containers });

  it.each([
    ['a node that was chosen is cordoned', 'raced-node', () => shop.call('POST', '/api/v1/nodes/n1/cordon')],
    ['the quota is lowered', 'raced-quota', () => quota(1)],
  ])('%s: it is made again, and refused', async (_title, name, happens) => {
    await running({ name, replicas: 1, nodeId: 'n1' });
    const body = { image: image('9.0.0'), replicas: 2 };
    const { id } = await planned(name, body);
    const answer = await overtaken(name, id, body, async () => {
      expect((await happens()).status).toBe(200);
    });
    expect([answer.status, answer.body.code]).toEqual([412, 'plan_outdated']);
    expect((await shop.call('GET', `${DEPLOYMENTS}/${name}`)).body.replicas).toBe(1);
    await shop.call('POST', '/api/v1/nodes/n1/uncordon');
    expect((await quota(null)).status).toBe(200);
  });

  it('what does not concern it does not hinder it', async () => {
    await running({ name: 'calm', replicas: 1 });
    const body = { environment: { A: 'b' } };
    const { id } = await planned('calm', body);
    const answer = await overtaken('calm', id, body, async () => {
      const made = await shop.call('POST', '/api/v1/jobs', {
        name: 'beside',
        image: image('1.0.0'),
        schedule: '0 3 * * *',
      });
      expect(made.status).toBe(201);
    });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  });
});

describe('the plan of a set', () => {
  let yard: TestTenant;
  beforeAll(async () => {
    yard = await plane.tenant('yard');
    await flow.connected('y1', yard);
  });

  interface Planned {
    readonly name: string;
    readonly action: string;
    readonly changes: readonly { readonly field: string }[];
    readonly warnings: readonly { readonly code: string }[];
    readonly rejections: readonly { readonly code: string; readonly field: string }[];
    readonly plan?: {
      readonly instances: readonly unknown[];
      readonly unplaced?: { readonly count: number; readonly summary: string };
    };
  }
  async function set(documents: readonly object[]): Promise<readonly Planned[]> {
    const answer = await yard.call('POST', '/api/v1/apply?dryRun=true', documents);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.documents;
  }
  /** How many of each have a place, and how many have none. */
  const places = (documents: readonly Planned[]) =>
    documents.map(({ name, plan }) => [name, plan?.instances.length, plan?.unplaced?.count ?? 0]);
  const five = (name: string, more = {}) => ({
    name,
    image: image('1.0.0'),
    resources: { requests: { memory: '5Gi' } },
    ...more,
  });

  it('counts the room that those before it take on the nodes', async () => {
    const documents = await set([five('a'), five('b'), { ...five('c'), resources: {} }]);
    expect(places(documents)).toEqual([
      ['a', 1, 0],
      ['b', 0, 1],
      ['c', 1, 0],
    ]);
    expect(documents[1]?.plan?.unplaced?.summary).toContain('memory');
    // Nothing of it stays: alone, each has its place.
    expect(places(await set([five('b')]))).toEqual([['b', 1, 0]]);
  });

  it('counts host ports, and jobs that run at once', async () => {
    const port = (name: string) => ({ name, image: image('1.0.0'), ports: [{ container: 80, host: 8080 }] });
    expect(places(await set([port('a'), port('b')]))).toEqual([
      ['a', 1, 0],
      ['b', 0, 1],
    ]);
    const once = { ...five('once'), kind: 'Job' };
    expect(places(await set([once, { ...five('later'), kind: 'Job' }, five('web')]))).toEqual([
      ['web', 1, 0],
      ['once', 0, 1],
      ['later', 0, 1],
    ]);
  });

  it('counts the quota, and the room that a change gives back', async () => {
    const limited = (containers?: number) => plane.admin('PUT', '/api/v1/tenants/yard/quota', { containers });
    expect((await limited(3)).status).toBe(200);
    const small = (name: string, replicas: number) => ({ name, image: image('1.0.0'), replicas });
    expect(places(await set([small('a', 2), small('b', 2)]))).toEqual([
      ['a', 2, 0],
      ['b', 1, 1],
    ]);
    expect((await yard.call('POST', DEPLOYMENTS, small('a', 3))).status).toBe(201);
    await flow.instances(yard, 'a', 3);
    expect(places(await set([small('b', 2)]))).toEqual([['b', 0, 2]]);
    expect(places(await set([small('a', 1), small('b', 2)]))).toEqual([
      ['a', 0, 0],
      ['b', 2, 0],
    ]);
    expect((await limited()).status).toBe(200);
    expect((await yard.call('DELETE', `${DEPLOYMENTS}/a`)).status).toBe(200);
  });

  it('knows the secrets that the set makes, of their own and with a workload, and their keys', async () => {
    const secret = (keys: readonly string[]) => ({
      kind: 'Secret',
      namespace: 'resources',
      name: 'db',
      generate: { keys },
    });
    const reading = (name: string, path = 'resources/db') => ({
      name,
      image: image('1.0.0'),
      secrets: [{ name: 'DB', vault_path: path, anchor: 'process' }],
      composedEnvironment: { URL: '{{secret.db.password}}' },
    });
    const codes = (documents: readonly Planned[]) =>
      documents
        .flatMap(({ warnings }) => warnings.map(({ code }) => code))
        .filter((code) => /secret/.test(code));
    expect(codes(await set([reading('web')]))).toEqual(['secret_missing']);
    expect(codes(await set([reading('web'), secret(['password'])]))).toEqual([]);
    expect(codes(await set([reading('web'), secret(['user'])]))).toEqual(['secret_key_missing']);
    const bringing = {
      ...reading('api', 'deployments/db'),
      secrets: [
        { name: 'DB', vault_path: 'deployments/db', anchor: 'process', generate: { keys: ['password'] } },
      ],
    };
    expect(codes(await set([bringing, { ...reading('web', 'deployments/db') }]))).toEqual([]);
    expect((await yard.call('GET', '/api/v1/secrets')).body).toEqual([]);
  });

  it('holds a scaling policy under the name of its deployment, after it', async () => {
    const web = { name: 'web', image: image('1.0.0'), replicas: 2 };
    const policy = { kind: 'ScalingPolicy', name: 'web', maxReplicas: 5, targetCpuPercent: 70 };
    const told = (documents: readonly Planned[]) =>
      documents.map(({ name, action, changes, rejections }) => [
        name,
        action,
        ...changes.map(({ field }) => field),
        ...rejections.map(({ code, field }) => `${code} ${field}`),
      ]);
    expect(told(await set([policy, web]))).toEqual([
      ['web', 'create'],
      ['web', 'create'],
    ]);
    expect(told(await set([policy]))).toEqual([['web', 'refused', 'deployment_not_found name']]);
    expect(told(await set([web, { ...policy, maxReplicas: 0 }]))[1]).toEqual([
      'web',
      'refused',
      'scaling_policy_invalid maxReplicas',
    ]);
    expect((await yard.call('POST', DEPLOYMENTS, web)).status).toBe(201);
    const { kind: _kind, name: _name, ...body } = policy;
    expect((await yard.call('PUT', `${DEPLOYMENTS}/web/scaling-policy`, body)).status).toBe(201);
    expect(told(await set([policy]))).toEqual([['web', 'unchanged']]);
    expect(told(await set([{ ...policy, maxReplicas: 6 }]))).toEqual([['web', 'change', 'maxReplicas']]);
  });
});
