import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

const CHECK = { type: 'exec', command: ['probe'], retries: 3 };
const POLICY = { minReplicas: 1, maxReplicas: 4, targetCpuPercent: 50, cooldown: '1s' };

/** Several cooldowns, on a busy machine. */
const WAIT_MS = 30_000;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: WorkingAgent;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_TIMERS_USAGE: '100ms' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  agent = new WorkingAgent((await flow.connected('n1', shop)).agent);
});
afterAll(async () => {
  agent.stop();
  flow.close();
  await plane.close();
});

const path = (name: string) => `/api/v1/deployments/${name}`;
const read = (name: string) => shop.call('GET', path(name));

async function running(name: string, replicas: number): Promise<void> {
  await eventually(
    () => read(name),
    ({ body }) => body.replicas === replicas && body.status.phase === 'Running',
    WAIT_MS,
  );
}

async function deployed(name: string, more: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const body = { name, image: 'localhost:1/shop/web:1.0.0', replicas: 1, healthCheck: CHECK, ...more };
  expect((await shop.call('POST', '/api/v1/deployments', body)).status).toBe(201);
  await running(name, body.replicas);
}

const scaled = async (name: string) =>
  (await shop.call('GET', `/api/v1/events?kind=deployment.scaled&subject=${name}`)).body as {
    message: string;
    details: Record<string, unknown>;
  }[];

describe('a scaling policy', () => {
  it('moves the number with what agents measure, without a restart and without a version', async ({
    task,
  }) => {
    // A second try finds nothing of the first.
    const busy = `busy-${task.result?.retryCount ?? 0}`;
    await deployed(busy);
    const [first] = agent.running(false).filter(({ deployment }) => deployment === busy);
    agent.load = ({ deployment }) => (deployment === busy ? 90 : undefined);
    const { status, body } = await shop.call('PUT', `${path(busy)}/scaling-policy`, POLICY);
    expect([status, body.deployment, body.alterations]).toEqual([201, busy, []]);
    await running(busy, 4);
    const [up] = await scaled(busy);
    expect(up?.message).toContain(`${busy} scaled from 1 to 2: CPU is 90 % of 1 core per instance`);
    expect(up?.details).toMatchObject({ from: 1, to: 2, cpuPercent: 90, targetCpuPercent: 50, measured: 1 });
    agent.load = ({ deployment }) => (deployment === busy ? 1 : undefined);
    await running(busy, 1);
    const left = agent.running(false).filter(({ deployment }) => deployment === busy);
    expect(left.map(({ id }) => id)).toEqual([first?.id]);
    expect((await shop.call('GET', `/api/v1/archives/deployments/${busy}`)).body).toHaveLength(1);
    // The instance that was left may have been measured before the load fell.
    await expect
      .poll(async () => (await shop.call('GET', `${path(busy)}/scaling-policy`)).body, { timeout: 10_000 })
      .toMatchObject({ ...POLICY, status: { state: 'active', replicas: 1, cpuPercent: 1 } });
    const audit = (await plane.admin('GET', '/api/v1/audit', undefined, { 'x-tenant-id': 'shop' })).body as {
      action: string;
      actor: string;
    }[];
    expect(audit.some(({ action, actor }) => action === 'deployment.scaled' && actor === 'system')).toBe(
      true,
    );
  });

  it('takes a number that is written by hand as far as it allows, and says so', async () => {
    await deployed('hand', { replicas: 2 });
    await shop.call('PUT', `${path('hand')}/scaling-policy`, { ...POLICY, cooldown: '1h' });
    const over = (await shop.call('PUT', path('hand'), { replicas: 9 })).body;
    expect(over).toMatchObject({
      replicas: 4,
      alterations: [{ field: 'replicas', from: '9', to: '4' }],
      warnings: [{ code: 'scaling_policy_active' }],
    });
    const within = (await shop.call('PUT', path('hand'), { replicas: 3 })).body;
    expect(within).toMatchObject({
      replicas: 3,
      alterations: [],
      warnings: [{ code: 'scaling_policy_active' }],
    });
    const stopped = (await shop.call('PUT', path('hand'), { replicas: 0 })).body;
    expect(stopped).toMatchObject({ replicas: 0, alterations: [] });
    const back = (await shop.call('POST', `${path('hand')}/rollback`, { version: 1 })).body;
    expect(back).toMatchObject({ replicas: 2, alterations: [] });
    const other = (await shop.call('PUT', path('hand'), { environment: { A: '1' } })).body;
    expect(other).toMatchObject({
      replicas: 2,
      warnings: expect.not.arrayContaining([{ code: 'scaling_policy_active' }]),
    });
    await shop.call('DELETE', `${path('hand')}/scaling-policy`);
    expect((await shop.call('PUT', path('hand'), { replicas: 9 })).body).toMatchObject({
      replicas: 9,
      alterations: [],
    });
  });

  it('holds its own revision, and goes with its deployment', async () => {
    await deployed('mine');
    const made = await shop.call('PUT', `${path('mine')}/scaling-policy`, {
      maxReplicas: 3,
      targetCpuPercent: 60,
    });
    expect(made.body.alterations.map(({ field, to }: { field: string; to: string }) => [field, to])).toEqual([
      ['minReplicas', '1'],
      ['cooldown', '60s'],
    ]);
    const outdated = await shop.call('PUT', `${path('mine')}/scaling-policy`, POLICY, { 'if-match': '"1"' });
    expect([outdated.status, outdated.body.code]).toEqual([412, 'revision_mismatch']);
    const etag = made.headers.get('etag') ?? '';
    const next = await shop.call('PUT', `${path('mine')}/scaling-policy`, POLICY, { 'if-match': etag });
    expect(next.status).toBe(200);
    await shop.call('DELETE', path('mine'));
    await deployed('mine');
    expect((await shop.call('GET', `${path('mine')}/scaling-policy`)).body.code).toBe(
      'scaling_policy_not_found',
    );
  });

  it('warns of a maximum that the quota does not hold, and does not go beyond it', async () => {
    const bank = await plane.tenant('bank');
    await plane.admin('PUT', '/api/v1/tenants/bank/quota', { containers: 2 });
    const worker = new WorkingAgent((await flow.connected('b1', bank)).agent);
    worker.load = () => 99;
    const body = { name: 'tight', image: 'localhost:1/shop/web:1.0.0', replicas: 1, healthCheck: CHECK };
    await bank.call('POST', '/api/v1/deployments', body);
    const set = await bank.call('PUT', `${path('tight')}/scaling-policy`, POLICY);
    expect(set.body.warnings).toMatchObject([{ code: 'quota_below_maximum', field: 'maxReplicas' }]);
    const [limited] = await eventually(
      async () =>
        (await bank.call('GET', '/api/v1/events?kind=deployment.scaling_limited')).body as {
          message: string;
        }[],
      (events) => events.length > 0,
      WAIT_MS,
    );
    expect(limited?.message).toContain('tight stays at 2 although 4 are wanted');
    expect(limited?.message).toContain('2 of 2 allowed');
    expect((await bank.call('GET', path('tight'))).body).toMatchObject({
      replicas: 2,
      status: { phase: 'Running' },
    });
    worker.stop();
  });
});
