import { PONGS_FEATURE, PULSES_FEATURE } from '../../src/core/protocol/agent-protocol.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import { eventually } from '../support/eventually.ts';
import { type AgentIdentity, refusedUpgrade } from '../support/agents/scripted-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane([], {
    BERTH_TIMERS_HEARTBEAT: '500ms',
    BERTH_TIMERS_FAILED_AFTER: '2s',
    BERTH_TIMERS_START_GRACE: '3s',
    BERTH_AGENTS_SESSIONS_PER_SECOND: '5',
  });
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});

afterAll(async () => {
  flow.close();
  await plane.close();
});

it('ends a session that is silent, and keeps one that reports; both get signs of life, of which a ping asks for an answer', async () => {
  const begun = performance.now();
  const silent = await flow.connected('silent-1', shop);
  const alive = await flow.connected('alive-1', shop, undefined, { features: [PONGS_FEATURE] });
  const pulsing = await flow.connected('pulsing-1', shop, undefined, { features: [PULSES_FEATURE] });
  const seen = async () =>
    Date.parse((await shop.call('GET', '/api/v1/nodes/pulsing-1')).body.lastSeenAt ?? 0);
  const timer = setInterval(() => {
    alive.agent.report([]);
    // Of an agent that did not say that they are its heartbeat they count for nothing.
    for (const { agent } of [pulsing, silent]) agent.socket.pong();
  }, 400);
  const seenFirst = await seen();
  await silent.agent.closed;
  clearInterval(timer);
  expect((await seen()) - seenFirst).toBeGreaterThan(1000);
  expect(pulsing.agent.socket.readyState).toBe(pulsing.agent.socket.OPEN);
  const tookMs = performance.now() - begun;
  expect(tookMs).toBeGreaterThan(1500);
  expect(silent.agent.pings).toBeGreaterThanOrEqual(2);
  expect(alive.agent.pongs).toBeGreaterThanOrEqual(2);
  expect([silent.agent.pongs, alive.agent.pings]).toEqual([0, 0]);
  expect(alive.agent.socket.readyState).toBe(alive.agent.socket.OPEN);
  expect((await shop.call('GET', '/api/v1/nodes/alive-1')).body.lastSeenAt).toMatch(/^\d{4}-/);
});

it('says of a node that fell silent when it was heard last, and of its instances that nothing is known', async () => {
  const { agent } = await flow.connected('cut-1', shop);
  let seen: Parameters<typeof agent.report>[0] = [];
  const timer = setInterval(() => agent.report(seen), 400);
  const placed = await flow.placed(shop, 'cut', 'cut-1');
  seen = [{ id: placed.id, phase: 'running', health: 'healthy', specHash: placed.specHash }];
  const read = async () => (await shop.call('GET', '/api/v1/deployments/cut/instances')).body;
  await eventually(read, ([one]) => one.state === 'running');
  const heard = async () => Date.parse((await shop.call('GET', '/api/v1/nodes/cut-1')).body.lastSeenAt);
  clearInterval(timer);
  const before = await heard();
  const sinceThen = async () => Math.abs((await heard()) - before);
  await agent.closed;
  expect(await sinceThen()).toBeLessThan(1_000);
  const [away] = await eventually(read, ([one]) => one.nodeStatus !== undefined);
  expect(away).toMatchObject({ state: 'running', health: 'healthy', nodeStatus: 'failed' });
  const { body: deployment } = await shop.call('GET', '/api/v1/deployments/cut');
  expect(deployment.status.instances).toMatchObject([{ state: 'running', nodeStatus: 'failed' }]);
  const { body: node } = await shop.call('GET', '/api/v1/nodes/cut-1');
  expect(node).toMatchObject({ status: 'failed', reason: 'no sign of life for 2 s' });
  expect(await sinceThen()).toBeLessThan(1_000);
});

it('accepts a bounded number of sessions per second and says when to come back', async () => {
  const identities: AgentIdentity[] = [];
  for (let index = 0; index < 12; index += 1) identities.push(await flow.enrolled(`herd-${index}`, shop));
  const results = await Promise.all(
    identities.map(async (identity) => {
      const refused = refusedUpgrade(identity).catch(() => undefined);
      return refused;
    }),
  );
  const refused = results.filter((one) => one !== undefined);
  // Five, or what brings 15 nodes back within two thirds of three seconds.
  expect(results.length - refused.length).toBeLessThanOrEqual(8);
  expect(results.length - refused.length).toBeGreaterThan(0);
  for (const { status, retryAfter, body } of refused) {
    expect([status, body['code']]).toEqual([429, 'rate_limited']);
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
  }
});

it('lets the agents come back after a restart: the socket is closed without a farewell', async () => {
  const own = await startControlPlane();
  const tenant = await own.tenant('shop');
  const { agent } = await new NodeFlow(own).connected('restart-1', tenant);
  const closed = agent.closed;
  await own.close();
  expect(await closed).toBe(1012);
  expect(agent.received.filter(({ type }) => type === 'farewell')).toEqual([]);
});
