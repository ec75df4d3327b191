import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { WorkingAgent } from '../support/agents/working-agent.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';

const CHECK = { type: 'exec', command: ['probe'], retries: 3 };
const WEB = { name: 'web', image: 'localhost:1/shop/web:1.0.0', replicas: 2, healthCheck: CHECK };
const PATH = '/api/v1/deployments/web/history';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: WorkingAgent;

beforeAll(async () => {
  plane = await startControlPlane([], { BERTH_TIMERS_USAGE: '100ms' });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  agent = new WorkingAgent((await flow.connected('n1', shop)).agent);
  agent.load = () => 50;
  expect((await shop.call('POST', '/api/v1/deployments', WEB)).status).toBe(201);
});
afterAll(async () => {
  agent.stop();
  flow.close();
  await plane.close();
});

const known = (column: readonly (number | null)[]) => column.filter((one) => one !== null);

describe('the history', () => {
  it('has what agents measured and the records say, in steps, and null where there was nothing', async () => {
    const { body } = await eventually(
      () => shop.call('GET', PATH),
      (answer) => known(answer.body.cpuCoresMax).includes(1) && known(answer.body.wanted).includes(2),
      20_000,
    );
    expect([body.name, body.stepSeconds, body.recorded]).toEqual(['web', 30, true]);
    // The hour before it was created is a gap, not zeros.
    expect(body.cpuCores.length).toBeGreaterThanOrEqual(120);
    for (const column of ['cpuCores', 'memoryBytes', 'measured', 'running', 'failures'])
      expect(known(body[column]).length).toBeLessThan(5);
    // The agent said nothing of its network.
    expect(known(body.receivedBytesPerSecond)).toEqual([]);
    expect(Date.parse(body.start) % 30_000).toBe(0);
    const day = (await shop.call('GET', `${PATH}?since=24h&step=1h`)).body;
    expect([day.stepSeconds, day.cpuCores.length < 27]).toEqual([3600, true]);
    expect(known(day.cpuCoresMax).length).toBeGreaterThan(0);
    const node = (await shop.call('GET', '/api/v1/nodes/n1/history')).body;
    expect([node.name, 'running' in node, known(node.cpuCoresMax).includes(1)]).toEqual(['n1', false, true]);
  });

  it('is a viewer’s to read, and nothing to strangers', async () => {
    const viewer = await shop.call('POST', '/api/v1/tokens', { name: 'look', role: 'viewer' });
    expect((await plane.as(viewer.body.token)('GET', PATH)).status).toBe(200);
    const bank = await plane.tenant('bank');
    expect((await bank.call('GET', PATH)).body.code).toBe('deployment_not_found');
    expect((await bank.call('GET', '/api/v1/nodes/n1/history')).body.code).toBe('node_not_found');
  });

  it.each(['since=25h', 'since=1s', 'since=yesterday', 'step=x'])('refuses %s', async (query) => {
    const { status, body } = await shop.call('GET', `${PATH}?${query}`);
    expect([status, body.code]).toEqual([400, 'query_parameter_invalid']);
  });
});
