import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import type { TestTenant } from '../support/harness/node-flow.ts';
import { WEB, WebStage } from '../support/harness/web-stage.ts';
import type { ControlPlane } from '../support/harness/control-plane.ts';

let stage: WebStage;
let shop: TestTenant;
let plane: ControlPlane;

beforeAll(async () => {
  stage = await WebStage.start();
  ({ plane, shop } = stage);
});
afterAll(() => stage.close());

const ids = () => stage.ids();
const running = () => stage.running();

describe('one instance', () => {
  it('is shown with its node and what it runs', async () => {
    const [first = ''] = await ids();
    const { status, body } = await shop.call('GET', `${WEB}/instances/${first}`);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({
      id: first,
      name: `web-${first.slice(-8)}`,
      deployment: 'web',
      state: 'running',
      health: 'healthy',
      current: true,
      image: 'localhost:1/shop/web:1.0.0',
      node: { name: 'n1', status: 'ready', connected: true },
      secrets: [],
      failures: [],
    });
    const query = `subject=Instance/${first}&since=${body.createdAt}`;
    const events = (await shop.call('GET', `/api/v1/events?${query}`)).body;
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual([
      'instance.created',
      'instance.started',
    ]);
  });

  it('is not found under another name, nor by another tenant', async () => {
    const [first = ''] = await ids();
    const none = await shop.call('GET', `${WEB}/instances/ins_none`);
    expect([none.status, none.body.code, none.body.field]).toEqual([404, 'instance_not_found', 'instance']);
    const other = await shop.call('GET', `/api/v1/deployments/none/instances/${first}`);
    expect(other.body.code).toBe('deployment_not_found');
    const stranger = await plane.tenant('rival');
    expect((await stranger.call('GET', `${WEB}/instances/${first}`)).body.code).toBe('deployment_not_found');
  });
});

async function orders(): Promise<readonly string[]> {
  const { body } = await shop.call('GET', '/api/v1/audit?limit=1000');
  return body
    .map(({ action }: { action: string }) => action)
    .filter((action: string) => action.startsWith('instance.'));
}

describe('an order to one instance', () => {
  it('restarts it in its place, says what serves meanwhile, and is on record', async () => {
    const before = await ids();
    const [first = ''] = before;
    const { status, body } = await shop.call('POST', `${WEB}/instances/${first}/restart`);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({ instance: first, deployment: 'web', nodeId: 'n1', order: 'restart' });
    expect(body.warnings).toEqual([
      {
        code: 'availability_reduced',
        field: 'instance',
        why: 'While it is down, 1 of 2 wanted serves until it is back.',
      },
    ]);
    const after = await eventually(
      async () => (await shop.call('GET', `${WEB}/instances/${first}`)).body,
      (one) => one.attempt === 1 && one.order === undefined,
    );
    expect(after.nodeId).toBe('n1');
    expect(await ids()).toEqual(before);
    expect(await orders()).toEqual(['instance.restart-requested']);
    const events = (await shop.call('GET', `/api/v1/events?subject=Instance/${first}`)).body;
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual(
      expect.arrayContaining(['instance.restart_requested', 'instance.restarted']),
    );
  });

  it('stops it, and another one takes its place; a second order is the same one', async () => {
    await running();
    const before = await ids();
    const [first = '', second = ''] = before;
    expect((await shop.call('POST', `${WEB}/instances/${first}/stop`)).status).toBe(200);
    const again = await shop.call('POST', `${WEB}/instances/${first}/stop`);
    expect([200, 404]).toContain(again.status);
    const after = await eventually(ids, (now) => now.length === 2 && !now.includes(first));
    expect(after).toContain(second);
    await running();
    const { body } = await shop.call('GET', WEB);
    expect(body.replicas).toBe(2);
  });

  it('is refused to viewers and strangers, and for what is not there', async () => {
    await running();
    const before = await ids();
    const [first = ''] = before;
    const token = await shop.call('POST', '/api/v1/tokens', { name: 'looks', role: 'viewer' });
    const viewer = plane.as(token.body.token);
    for (const order of ['restart', 'stop', 'signal']) {
      const path = `${WEB}/instances/${first}/${order}`;
      const sent = order === 'signal' ? { signal: 'SIGHUP' } : undefined;
      expect((await viewer('POST', path, sent)).body.code).toBe('role_forbidden');
      const gone = await shop.call('POST', `${WEB}/instances/ins_gone/${order}`, sent);
      expect(gone.body).toMatchObject({ code: 'instance_not_found', field: 'instance' });
    }
    await running();
    expect(await ids()).toEqual(before);
  });

  it('sends a signal only of the list, and only to an agent that knows it', async () => {
    const [first = ''] = await ids();
    const path = `${WEB}/instances/${first}/signal`;
    const unknown = await shop.call('POST', path, { signal: 'hup' });
    expect(unknown.body).toMatchObject({ code: 'signal_invalid', field: 'signal', received: 'hup' });
    expect(unknown.body.why).toContain('SIGHUP');
    const { body } = await shop.call('POST', path, { signal: 'SIGHUP' });
    expect(body).toMatchObject({ code: 'agent_outdated', field: 'node', received: 'n1' });
    expect(body.why).toContain('release');
  });

  it('is refused while its node does not answer, and nothing is ordered', async () => {
    const [first = ''] = await ids();
    const told = (await orders()).length;
    stage.disconnect();
    const { status, body } = await eventually(
      async () => shop.call('POST', `${WEB}/instances/${first}/restart`),
      (answer) => answer.status !== 200,
    );
    expect([status, body.code, body.field]).toEqual([503, 'agent_unreachable', 'node']);
    expect(body.why).toContain('nothing was ordered');
    expect((await orders()).length).toBeLessThanOrEqual(told + 1);
    expect((await shop.call('GET', `${WEB}/instances/${first}`)).body.node.connected).toBe(false);
  });
});
