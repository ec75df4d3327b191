import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentProcess, startAgent } from '../support/harness/agent-process.ts';
import { eventually } from '../support/eventually.ts';
import { BOX, ClusterNode } from '../support/harness/cluster.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import type { PlaneProcess, Tenant } from '../support/harness/plane-process.ts';
import { startTcpProxy, type TcpProxy } from '../support/harness/tcp-proxy.ts';
import { healthOf, type Planes, startPlanes } from '../support/harness/planes.ts';

/** A real agent with a real engine under three control planes: it finds another one, and its containers do not notice. */

/** In the proportions of the defaults: a control plane alone without its store is noticed before its nodes count as silent. */
const TIMERS = {
  BERTH_TIMERS_CONTROL_PLANE_LEASE: '3s',
  BERTH_TIMERS_FAILED_AFTER: '9s',
  BERTH_TIMERS_REPLACE_AFTER: '30s',
};

let etcd: Etcd;
/** Between each control plane and etcd. */
const links: TcpProxy[] = [];
let planes: Planes;
let engine: TestEngine;
let agent: AgentProcess;
let node: ClusterNode;
let shop: Tenant & { readonly token: string };

const as = (plane: PlaneProcess): Tenant['call'] => plane.as(shop.token);

beforeAll(async () => {
  [etcd, engine] = await Promise.all([startEtcd(), startEngine()]);
  const { hostname: host, port } = new URL(etcd.endpoints[0] ?? '');
  for (let index = 0; index < 3; index += 1) links.push(await startTcpProxy({ host, port: Number(port) }));
  const starting = startPlanes(etcd, 3, TIMERS, (index) => ({
    BERTH_STORE_ETCD_ENDPOINTS: `http://127.0.0.1:${links[index]?.port}`,
  }));
  [planes] = await Promise.all([starting, buildTestImage(engine, BOX, {})]);
  shop = await planes.first.tenant('shop');
  const { body } = await shop.call('POST', '/api/v1/join-tokens', {});
  agent = await startAgent({
    // Where the control planes are as seen from the machine; a list is taken as well as repeated flags.
    server: planes.members.map(({ port }) => `http://${engine.namespace?.hostAddress}:${port}`).join(','),
    name: 'n1',
    socketPath: engine.socketPath,
    joinToken: body.token as string,
    ...(engine.namespace === undefined ? {} : { namespace: engine.namespace.name }),
  });
  node = new ClusterNode('n1', engine, agent, planes.first.port);
  const spec = { kind: 'Deployment', name: 'web', image: BOX, command: ['sleep', '3600'], replicas: 2 };
  expect((await shop.call('POST', '/api/v1/deployments', spec)).status).toBe(201);
  await eventually(
    'it runs',
    () => phase(planes.first),
    (seen) => seen === 'Running',
  );
});

afterAll(async () => {
  await agent?.dispose();
  await planes?.stop();
  await engine?.stop();
  await Promise.all(links.map((link) => link.close()));
  await etcd?.stop();
});

async function phase(plane: PlaneProcess): Promise<string | undefined> {
  return (await as(plane)('GET', '/api/v1/deployments/web')).body.status?.phase as string | undefined;
}

/** The control plane that the agent is connected to; undefined while it dials. */
async function holder(): Promise<PlaneProcess | undefined> {
  const counts = await Promise.all(
    planes.members.map(async (plane) => {
      const answer = await fetch(`${plane.url}/metrics`).catch(() => undefined);
      return Number(/^berth_agent_sessions (\d+)/m.exec((await answer?.text()) ?? '')?.[1] ?? 0);
    }),
  );
  return planes.members[counts.indexOf(1)];
}

async function connectedPlane(): Promise<PlaneProcess> {
  const found = await eventually('the agent is connected', holder, (plane) => plane !== undefined);
  if (found === undefined) throw new Error('not connected');
  return found;
}

async function settled(): Promise<void> {
  const held = async () =>
    (await Promise.all(planes.members.map(healthOf))).reduce((sum, one) => sum + (one?.held ?? 0), 0);
  await eventually('every shard is held', held, (count) => count === 64);
}

describe('a real agent under three control planes', () => {
  it('is spoken to through any of them', async () => {
    for (const plane of planes.members) {
      const { body, status } = await as(plane)('POST', '/api/v1/deployments/web/exec', {
        command: ['echo', 'hello'],
      });
      expect({ status, body }).toMatchObject({ status: 200, body: { exitCode: 0, stdout: 'hello\n' } });
      expect((await as(plane)('GET', '/api/v1/nodes/n1/containers')).body).toHaveLength(2);
    }
  });

  it('streams more than fits into any window, through another control plane, at the pace of the reader', async () => {
    const direct = await connectedPlane();
    const [other] = planes.others(direct);
    if (other === undefined) throw new Error('too few');
    const command = [
      'sh',
      '-c',
      'i=0; while [ $i -lt 20000 ]; do echo "line $i of a log that is long enough"; i=$((i+1)); done',
    ];
    const answer = await as(other)('POST', '/api/v1/deployments/web/exec', { command });
    expect(answer.status).toBe(200);
    const lines = (answer.body.stdout as string).trimEnd().split('\n');
    expect(lines).toHaveLength(20_000);
    expect(lines.at(-1)).toBe('line 19999 of a log that is long enough');
  });

  it('finds another one when its own is killed, and its containers keep their processes', async () => {
    const before = await node.pids('web');
    expect(Object.keys(before)).toHaveLength(2);
    for (let kill = 0; kill < 2; kill += 1) {
      const lost = await connectedPlane();
      await lost.end('SIGKILL');
      const next = await connectedPlane();
      expect(next).not.toBe(lost);
      expect(await node.pids('web')).toEqual(before);
      const scaled = await as(next)('GET', '/api/v1/nodes/n1');
      expect(scaled.body.status).toBe('ready');
      await lost.start();
      await settled();
    }
    expect(await node.pids('web')).toEqual(before);
  });

  it('leaves no reader waiting when the control plane it is connected to is stopped and ends no connection', async () => {
    const direct = await connectedPlane();
    const [other] = planes.others(direct);
    if (other === undefined) throw new Error('too few');
    const [instance] = Object.keys(await node.pids('web'));
    const said = as(other)('POST', '/api/v1/deployments/web/exec', {
      command: ['sh', '-c', 'echo begun > /tmp/begun; sleep 25'],
      instance,
    });
    await eventually(
      'the command runs',
      () =>
        as(direct)('POST', '/api/v1/deployments/web/exec', { command: ['cat', '/tmp/begun'], instance }).then(
          ({ body }) => body.stdout as string | undefined,
        ),
      (text) => text === 'begun\n',
    );
    const begun = performance.now();
    direct.pause();
    try {
      const { status, body } = await said;
      expect(status).toBe(503);
      expect(body.why).toContain('it is gone');
      process.stdout.write(`a reader knew after ${Math.round(performance.now() - begun)} ms\n`);
      expect(performance.now() - begun).toBeLessThan(10_000);
    } finally {
      direct.resume();
    }
    await settled();
    await connectedPlane();
  });

  it('is sent on by a control plane that alone has lost the store, and its node is not failed by it', async () => {
    const before = await node.pids('web');
    const alone = await connectedPlane();
    const link = links[planes.members.indexOf(alone)];
    link?.refuse(true);
    await eventually('it is elsewhere', holder, (plane) => plane !== undefined && plane !== alone);
    const [other] = planes.others(alone);
    if (other === undefined) throw new Error('too few');
    // What may be old says so, and nothing is decided on it.
    const read = await as(alone)('GET', '/api/v1/deployments/web');
    expect([read.status, read.headers.get('berth-stale')]).toEqual([200, 'true']);
    const written = await as(alone)('PUT', '/api/v1/deployments/web', { replicas: 1 });
    expect([written.status, written.body.code]).toEqual([503, 'store_unavailable']);
    link?.refuse(false);
    await settled();
    expect((await as(other)('GET', '/api/v1/events?kind=node.failed&limit=10')).body).toEqual([]);
    expect(await node.pids('web')).toEqual(before);
  });

  it('goes through a restart of all of them, one after the other, with every container as it was', async () => {
    const before = await node.pids('web');
    for (const plane of planes.members) {
      await plane.end('SIGTERM');
      await plane.start();
      await settled();
      await connectedPlane();
    }
    await eventually(
      'it runs',
      () => phase(planes.first),
      (seen) => seen === 'Running',
    );
    expect(await node.pids('web')).toEqual(before);
    const events = await as(planes.first)('GET', '/api/v1/events?kind=node.failed&limit=10');
    expect(events.body).toEqual([]);
    // What is ordered now reaches it, whoever has its session and whoever decides.
    await as(planes.first)('PUT', '/api/v1/deployments/web', { replicas: 3 });
    await eventually(
      'three run',
      () => node.pids('web'),
      (pids) => Object.keys(pids).length === 3,
    );
    expect(await node.pids('web')).toMatchObject(before);
  });
});
