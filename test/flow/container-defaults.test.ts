import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';

const MI = 2 ** 20;
const IMAGE = '127.0.0.1:1/shop/job:1.0';
const PLATFORM = { memory: '50%', pids: 4096, cpuWeight: 100, logSize: '30M' };

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: ScriptedAgent;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_CONTAINERS_MEMORY: '50%' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  ({ agent } = await flow.connected('n1', shop));
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

const TENANT = '/api/v1/tenants/shop';
const read = async (name: string) => (await shop.call('GET', `/api/v1/deployments/${name}`)).body;

describe('what bounds containers by default', () => {
  it('is that of the platform, told to the agent and shown with the deployment', async () => {
    expect((await shop.call('GET', TENANT)).body.containerDefaults).toEqual({ set: {}, effective: PLATFORM });
    await deploy(shop.call, 'web');
    await deploy(shop.call, 'large', { resources: { requests: { memory: '6Gi' } } });
    await deploy(shop.call, 'own', { resources: { limits: { memory: '64Mi' } } });
    const { instances } = await agent.next('assignment', (told) => told.instances.length === 3);
    const bounds = Object.fromEntries(
      instances.map(({ deployment, container }) => [deployment, container?.bounds]),
    );
    // Half of the 8 GiB of this node, and never less than what is requested.
    expect(bounds['web']).toEqual({ memoryBytes: 4096 * MI, pids: 4096, cpuWeight: 100, logBytes: 30e6 });
    expect(bounds['large']?.memoryBytes).toBe(6144 * MI);
    expect((await read('web')).containerDefaults).toEqual(PLATFORM);
    const { memory: _own, ...others } = PLATFORM;
    expect((await read('own')).containerDefaults).toEqual(others);
  });

  it('is shown with jobs and in every answer about a tenant', async () => {
    const limited = { name: 'limited', image: IMAGE, resources: { limits: { memory: '64Mi' } } };
    const { memory: _own, ...others } = PLATFORM;
    const job = await shop.call('POST', '/api/v1/jobs?dryRun=true', { ...limited, containerDefaults: {} });
    expect([job.status, job.body.containerDefaults]).toEqual([200, others]);
    await shop.call('POST', '/api/v1/jobs', { name: 'later', image: IMAGE, schedule: '0 3 1 1 *' });
    expect((await shop.call('GET', '/api/v1/jobs/later')).body.containerDefaults).toEqual(PLATFORM);
    const asked = { set: {}, effective: PLATFORM };
    const made = await plane.admin('POST', '/api/v1/tenants', { slug: 'other', name: 'Other' });
    const limits = await plane.admin('PUT', '/api/v1/tenants/other/quota', { containers: 3 });
    const gone = await plane.admin('DELETE', '/api/v1/tenants/other');
    for (const { body } of [made, limits, gone]) expect(body.containerDefaults).toEqual(asked);
  });

  it('is the tenant’s where it has its own: told to agents, with no new spec and no new container', async () => {
    const before = await read('web');
    const set = { memory: '256Mi', pids: 128 };
    const answer = await plane.admin('PUT', `${TENANT}/container-defaults`, set);
    expect(answer.status).toBe(200);
    expect(answer.body.containerDefaults).toEqual({ set, effective: { ...PLATFORM, ...set } });
    const { instances } = await agent.next(
      'assignment',
      (told) => told.instances[0]?.container?.bounds?.pids === 128,
    );
    const web = instances.find(({ deployment }) => deployment === 'web');
    expect(web?.container?.bounds).toMatchObject({ memoryBytes: 256 * MI, pids: 128, cpuWeight: 100 });
    expect(instances.find(({ deployment }) => deployment === 'own')?.container?.limits).toEqual({
      memory: '64Mi',
    });
    const after = await read('web');
    expect(after.containerDefaults).toEqual({ ...PLATFORM, ...set });
    expect([after.specHash, after.revision]).toEqual([before.specHash, before.revision]);
    expect([web?.specHash, web?.attempt]).toEqual([before.specHash, 0]);
    const { body: events } = await shop.call('GET', '/api/v1/events?kind=tenant.container_defaults_set');
    expect(events[0]).toMatchObject({ message: expect.stringContaining('memory 256Mi, pids 128') });
  });

  it('is no difference when the record is sent back, and goes back to the platform’s', async () => {
    const stale = { ...(await read('web')), containerDefaults: PLATFORM };
    const sent = await shop.call('PUT', '/api/v1/deployments/web', stale);
    expect([sent.status, sent.body.alterations, sent.body.removed]).toEqual([200, [], []]);
    const { body } = await plane.admin('PUT', `${TENANT}/container-defaults`, { pids: null });
    expect(body.removed).toEqual(['containerDefaults[memory]', 'containerDefaults[pids]']);
    expect((await read('web')).containerDefaults).toEqual(PLATFORM);
  });

  it('is for platform administrators to set', async () => {
    const answer = await shop.call('PUT', `${TENANT}/container-defaults`, { pids: 4_194_304 });
    expect([answer.status, answer.body.code]).toEqual([403, 'role_forbidden']);
  });
});
