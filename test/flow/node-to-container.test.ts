import { afterAll, beforeAll, expect, it } from 'vitest';
import { DockerEngine } from '../../src/agent/engine/docker-engine.ts';
import { AgentProcess } from '../support/harness/agent-process.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { eventually } from '../support/eventually.ts';
import { joinToken } from '../support/harness/node-flow.ts';

const IMAGE = 'localhost:1/box:1';
const MARKER = 'canary-of-the-end-to-end-run';

let plane: ControlPlane;
let daemon: TestEngine;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let agent: AgentProcess;

beforeAll(async () => {
  [plane, daemon] = await Promise.all([startControlPlane(), startEngine()]);
  await buildTestImage(daemon, IMAGE);
  shop = await plane.tenant('shop');
  const token = await joinToken(shop.call, { nodeName: 'real-1' });
  agent = new AgentProcess({
    server: plane.url,
    name: 'real-1',
    socketPath: daemon.socketPath,
    joinToken: token,
    labels: { 'berth.io/country': 'DE' },
    environment: { BERTH_AGENT_LOG_LEVEL: 'debug' },
  });
  agent.launch();
  await ready();
});

afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await daemon?.stop();
  await plane?.close();
});

async function ready() {
  const node = () => shop.call('GET', '/api/v1/nodes/real-1');
  return (await eventually(node, ({ body }) => body.status === 'ready')).body;
}

async function instances() {
  return (await shop.call('GET', '/api/v1/deployments/web/instances')).body;
}

it('takes a deployment from POST to a running container with its secrets, and back', async () => {
  const engine = new DockerEngine(daemon.socketPath);
  expect(await ready()).toMatchObject({ labels: { 'berth.io/country': 'DE' }, engine: { kind: 'docker' } });
  await shop.call('PUT', '/api/v1/secrets/resources/db', { values: { password: MARKER } });
  const created = await shop.call('POST', '/api/v1/deployments', {
    kind: 'Deployment',
    name: 'web',
    image: IMAGE,
    replicas: 1,
    command: ['sh', '-c', 'echo started; exec sleep 3600'],
    secrets: [{ name: 'DB', vault_path: 'resources/db', anchor: 'external', rotation: 'restart' }],
  });
  expect(created.status).toBe(201);
  const [running] = await eventually(instances, (found) => found[0]?.state === 'running');
  expect(running).toMatchObject({
    nodeId: 'real-1',
    containerName: 'web',
    observedSpecHash: created.body.specHash,
  });
  const { pid } = await engine.inspect('web');

  const read = await shop.call('POST', '/api/v1/deployments/web/exec', {
    command: ['sh', '-c', 'echo $DB_password; exit 3'],
  });
  expect(read.body).toEqual({ instance: running.id, exitCode: 3, stdout: `${MARKER}\n`, stderr: '' });
  expect(
    (
      await eventually(
        () => shop.call('GET', '/api/v1/deployments/web/logs'),
        ({ body }) => body !== '',
      )
    ).body,
  ).toBe('started\n');
  const containers = await shop.call('GET', '/api/v1/nodes/real-1/containers');
  expect(containers.body).toHaveLength(1);
  expect(JSON.stringify(containers.body)).not.toContain(MARKER);

  await agent.end('SIGKILL');
  const { lastSeenAt } = await ready();
  agent.launch();
  await eventually(ready, (node) => node.lastSeenAt > lastSeenAt);
  expect((await engine.inspect('web')).pid).toBe(pid);

  await shop.call('PUT', '/api/v1/deployments/web', { replicas: 0 });
  await eventually(instances, (found) => found.length === 0);
  expect(await engine.list({ all: true })).toEqual([]);
  expect(agent.log()).not.toContain(MARKER);
});

it('sends the agent away with its node', async () => {
  expect((await shop.call('DELETE', '/api/v1/nodes/real-1')).status).toBe(200);
  await agent.end();
  expect(agent.log()).toContain('node_not_found');
});
