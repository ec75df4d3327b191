import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import type { AgentIdentity, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';

const CHECK = { type: 'exec', command: ['probe'], retries: 3 };
const COUNTRY = 'berth.io/country';
const GERMAN = { placement: { residency: { country: 'DE' } } };
const WAIT_MS = 30_000;

let plane: ControlPlane;
let flow: NodeFlow;
const working: WorkingAgent[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  for (const agent of working) agent.stop();
  flow.close();
  await plane.close();
});

type Labels = Readonly<Record<string, string>>;

interface Machine {
  readonly identity: AgentIdentity;
  readonly agent: ScriptedAgent;
}

async function node(tenant: TestTenant, name: string, labels: Labels): Promise<Machine> {
  const { identity, agent } = await flow.connected(name, tenant, labels);
  working.push(new WorkingAgent(agent));
  return { identity, agent };
}

/** The agent starts again with other labels, as its configuration now says. */
async function relabel({ identity, agent: before }: Machine, labels: Labels): Promise<void> {
  before.close();
  await before.closed;
  const agent = flow.dial(identity);
  await agent.welcome({ labels });
  await agent.next('assignment');
  working.push(new WorkingAgent(agent));
}

const read = async (tenant: TestTenant, name: string) =>
  (await tenant.call('GET', `/api/v1/deployments/${name}`)).body;
const phase = (tenant: TestTenant, name: string, wanted: string) =>
  eventually(
    () => read(tenant, name),
    ({ status }) => status.phase === wanted,
    WAIT_MS,
  );
const explained = async (tenant: TestTenant, name: string) =>
  (await tenant.call('GET', `/api/v1/deployments/${name}/explain`)).body;

describe('a node that no longer satisfies a residency', () => {
  it('keeps what cannot be moved, Degraded with both values, and gives it up when another node fits', async () => {
    const shop = await plane.tenant('shop');
    const first = await node(shop, 'first', { [COUNTRY]: 'DE' });
    const second = await node(shop, 'second', { [COUNTRY]: 'FR' });
    await deploy(shop.call, 'web', { healthCheck: CHECK, ...GERMAN });
    await phase(shop, 'web', 'Running');
    await relabel(first, { [COUNTRY]: 'IT' });
    const { status } = await phase(shop, 'web', 'Degraded');
    expect(status.message).toMatch(/DE.*IT/);
    expect(status.healthy).toBe(1);
    const events = await shop.call('GET', '/api/v1/events?kind=deployment.misplaced&subject=web');
    expect(events.body).toHaveLength(1);
    expect(events.body[0].message).toMatch(/first.*DE.*IT/);
    const { misplaced } = await explained(shop, 'web');
    expect(misplaced).toMatchObject([{ node: 'first', reasons: [{ required: 'DE', reported: 'IT' }] }]);

    await relabel(second, { [COUNTRY]: 'DE' });
    await phase(shop, 'web', 'Running');
    const [instance, more] = await flow.instances(shop, 'web', 1);
    expect([instance?.nodeId, more]).toEqual(['second', undefined]);
    expect((await explained(shop, 'web')).misplaced).toEqual([]);
    const { body } = await shop.call('GET', '/api/v1/events');
    const kinds: string[] = body.map(({ kind }: { kind: string }) => kind);
    // Start-first: the successor was made before the old one was given up.
    expect(kinds.lastIndexOf('instance.created')).toBeLessThan(kinds.indexOf('instance.replaced'));
  });

  it('is left by a spec that asks for another residency, or the deployment is Degraded', async () => {
    const bank = await plane.tenant('bank');
    await node(bank, 'paris', { [COUNTRY]: 'FR' });
    await deploy(bank.call, 'web', { healthCheck: CHECK });
    await phase(bank, 'web', 'Running');
    const { body } = await bank.call('PUT', '/api/v1/deployments/web', GERMAN);
    expect(body.warnings).toMatchObject([{ code: 'residency_no_matching_node' }]);
    const { status } = await phase(bank, 'web', 'Degraded');
    expect(status.message).toMatch(/DE.*FR/);
    await node(bank, 'berlin', { [COUNTRY]: 'DE' });
    await phase(bank, 'web', 'Running');
    expect((await flow.instances(bank, 'web', 1))[0]?.nodeId).toBe('berlin');
  });

  it('is not what a failed rollout returns to', async () => {
    const mill = await plane.tenant('mill');
    await node(mill, 'lyon', { [COUNTRY]: 'FR' });
    const update = { onFailure: 'rollback', progressDeadline: '1s' };
    await deploy(mill.call, 'web', { healthCheck: CHECK, environment: { V: '1' }, update });
    await phase(mill, 'web', 'Running');
    const closed = { access: { from: [] } };
    await mill.call('PUT', '/api/v1/deployments/web', { ...GERMAN, environment: { V: '2' }, ...closed });
    const back = await eventually(
      () => read(mill, 'web'),
      ({ environment }) => environment.V === '1',
      WAIT_MS,
    );
    expect(back.placement).toEqual(GERMAN.placement);
    // Nor is who may connect: it was closed while the rollout failed.
    expect(back.access).toEqual({ from: [] });
    expect(await flow.instances(mill, 'web', 1)).toHaveLength(1);
    expect((await phase(mill, 'web', 'Degraded')).status.message).toMatch(/DE.*FR/);
  });
});

describe('a node that states no country, where countries are blocked', () => {
  const BLOCKED = { placement: { residency: { blockedCountries: ['RU'] } } };

  it('stays a candidate, and the write and the explanation warn of it', async () => {
    const dock = await plane.tenant('dock');
    await node(dock, 'dark', {});
    await node(dock, 'rome', { [COUNTRY]: 'IT' });
    const body = { name: 'web', image: 'localhost:1/shop/web:1.0.0', healthCheck: CHECK, ...BLOCKED };
    const made = await dock.call('POST', '/api/v1/deployments', body);
    const warning = made.body.warnings.find(
      ({ code }: { code: string }) => code === 'residency_country_unstated',
    );
    expect(warning).toMatchObject({ field: 'placement.residency.blockedCountries' });
    expect(warning.why).toMatch(/^dark states no country/);
    const { warnings, nodes } = await explained(dock, 'web');
    expect(warnings).toEqual([warning]);
    expect(nodes.find((one: { node: string }) => one.node === 'dark').fits).toBe(true);
  });

  it('is refused when the configuration says so', async () => {
    const strict = await startControlPlane([], { BERTH_RESIDENCY_UNSTATED: 'refuse' });
    const strictFlow = new NodeFlow(strict);
    try {
      const yard = await strict.tenant('yard');
      await strictFlow.connected('dark', yard, {});
      const body = { name: 'web', image: 'localhost:1/shop/web:1.0.0', ...BLOCKED };
      const made = await yard.call('POST', '/api/v1/deployments', body);
      expect(made.body.warnings).toMatchObject([
        { code: 'registry_unreachable' },
        { code: 'residency_no_matching_node' },
      ]);
      const [told] = (await explained(yard, 'web')).nodes;
      expect(told.reasons).toMatchObject([{ code: 'country_unstated', reported: 'no country' }]);
    } finally {
      strictFlow.close();
      await strict.close();
    }
  });
});

describe('an update at exactly the quota', () => {
  it('is announced as one that stops first, and completes', async () => {
    const inn = await plane.tenant('inn');
    await plane.admin('PUT', '/api/v1/tenants/inn/quota', { containers: 2 });
    await node(inn, 'inn-1', {});
    await deploy(inn.call, 'web', { healthCheck: CHECK, replicas: 2 });
    await phase(inn, 'web', 'Running');
    const { body } = await inn.call('PUT', '/api/v1/deployments/web', { environment: { V: '2' } });
    expect(body.warnings).toMatchObject([{ code: 'update_stops_first', field: 'update' }]);
    expect(body.warnings[0].why).toContain('2 of 2 allowed');
    const done = await eventually(
      () => read(inn, 'web'),
      ({ status, specHash }) =>
        status.phase === 'Running' &&
        status.instances.every((one: { specHash: string }) => one.specHash === specHash),
      WAIT_MS,
    );
    expect(done.status).toMatchObject({ healthy: 2, updated: 2 });
    expect((await inn.call('PUT', '/api/v1/deployments/web', { replicas: 1 })).body.warnings).toEqual([]);
  });

  it('waits, and says so, where the quota was lowered below what runs', async () => {
    const hut = await plane.tenant('hut');
    const quota = (containers: number) => plane.admin('PUT', '/api/v1/tenants/hut/quota', { containers });
    await node(hut, 'hut-1', {});
    await deploy(hut.call, 'web', { healthCheck: CHECK, replicas: 3 });
    await phase(hut, 'web', 'Running');
    await quota(1);
    const change = (body: object, query = '') =>
      hut.call('PUT', `/api/v1/deployments/web${query}`, { environment: { V: '2' }, ...body });
    const { warnings, plan } = (await change({}, '?dryRun=true')).body;
    expect(warnings).toMatchObject([{ code: 'update_waits', field: 'update' }]);
    expect(warnings[0].why).toContain('the tenant has 3 of 1 allowed');
    expect(warnings[0].why).toContain('the update waits');
    expect(plan.unplaced.count).toBe(3);
    for (const action of plan.actions) expect(action).not.toHaveProperty('how');
    // With fewer wanted the others go, and then one makes room.
    expect((await change({ replicas: 1 }, '?dryRun=true')).body.warnings).toMatchObject([
      { code: 'update_stops_first' },
    ]);
    expect((await change({})).body.warnings).toEqual(warnings);
    await quota(3);
    const done = await eventually(
      () => read(hut, 'web'),
      ({ status }) => status.phase === 'Running' && status.updated === 3,
      WAIT_MS,
    );
    expect(done.status.healthy).toBe(3);
  });
});
