import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { InstanceId, NodeName, TenantId } from '../../src/core/model/ids.ts';
import { joinId } from '../../src/server/store/keys.ts';
import { type Caller, type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import {
  agentKey,
  type AgentKey,
  NODE_FACTS,
  refusedUpgrade,
  ScriptedAgent,
} from '../support/scripted-agent.ts';

let plane: ControlPlane;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let bank: Awaited<ReturnType<ControlPlane['tenant']>>;
const agents: ScriptedAgent[] = [];

beforeAll(async () => {
  plane = await startControlPlane(['--node-name', 'the-control-plane'], {
    BERTH_AGENTS_SESSIONS_PER_SECOND: '500',
  });
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
});

afterAll(async () => {
  for (const agent of agents) agent.close();
  await plane.close();
});

function facts(nodeName: string, key: AgentKey) {
  return { nodeName, ...NODE_FACTS, publicKey: key.publicKey };
}

async function joinToken(call: Caller, body: Readonly<Record<string, string>> = {}): Promise<string> {
  const { status, body: made } = await call('POST', '/api/v1/join-tokens', body);
  expect(status).toBe(201);
  return made.token as string;
}

async function enrolled(nodeName: string, tenant = shop) {
  const key = agentKey();
  const { status, body } = await plane.as(await joinToken(tenant.call))(
    'POST',
    '/api/v1/nodes',
    facts(nodeName, key),
  );
  expect(status).toBe(201);
  return { url: plane.url, node: nodeName, token: body.nodeToken as string, key };
}

async function connected(nodeName: string, tenant = shop) {
  const identity = await enrolled(nodeName, tenant);
  const agent = dial(identity);
  await agent.welcome();
  await agent.next('assignment');
  return { identity, agent };
}

function dial(
  identity: ConstructorParameters<typeof ScriptedAgent>[0],
  options?: ConstructorParameters<typeof ScriptedAgent>[1],
): ScriptedAgent {
  const agent = new ScriptedAgent(identity, options);
  agents.push(agent);
  return agent;
}

let made = 0;

/** What the controllers write: an instance of a deployment on a node. */
async function place(
  tenantId: string,
  name: string,
  node: string,
  change: { readonly wanted?: 'run' | 'stop'; readonly id?: string } = {},
) {
  const tenant = plane.store.forTenant(tenantId as TenantId);
  const record = tenant.get('deployments', joinId(name))?.record;
  if (record === undefined) throw new Error(`no deployment ${name}`);
  made += 1;
  const id = (change.id ?? `ins_${String(made).padStart(26, '0')}`) as InstanceId;
  const instance = {
    id,
    tenantId: tenantId as TenantId,
    deployment: name,
    specHash: record.specHash,
    secretsVersion: record.spec.secretsVersion,
    nodeId: node as NodeName,
    wanted: change.wanted ?? 'run',
    createdAt: new Date().toISOString(),
    attempt: 0,
  } as const;
  await tenant.commit(tenant.transaction().put('instances', joinId(name, id), instance));
  return instance;
}

async function deploy(
  call: Caller,
  name: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const { status, body } = await call('POST', '/api/v1/deployments', {
    kind: 'Deployment',
    name,
    image: 'localhost:1/shop/web:1.0.0',
    replicas: 1,
    ...more,
  });
  expect(body.code).toBeUndefined();
  expect(status).toBe(201);
}

async function eventually<T>(read: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + 5000;
  for (;;) {
    const value = await read();
    if (fits(value)) return value;
    if (performance.now() > deadline) throw new Error(`not reached: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('the thin path', () => {
  it('enrols, opens a session, assigns and takes a report', async () => {
    const { identity, agent } = await connected('thin-1');
    await deploy(shop.call, 'thin', {
      environment: { LOG_LEVEL: 'info' },
      ingress: { host: 'shop.example.com', port: 8080 },
    });
    const instance = await place(shop.id, 'thin', identity.node);
    const { instances, generation } = await agent.next('assignment', (one) => one.instances.length > 0);
    expect(generation).toBe(2);
    expect(instances[0]).toMatchObject({
      id: instance.id,
      wanted: 'run',
      container: {
        image: 'localhost:1/shop/web:1.0.0',
        environment: { LOG_LEVEL: 'info' },
        needsSecrets: false,
        alias: 'thin',
      },
    });
    expect(instances[0]?.container?.labels).toMatchObject({
      'traefik.http.routers.shop_thin.rule': 'Host(`shop.example.com`)',
    });
    agent.report(
      [{ id: instance.id, phase: 'running', health: 'healthy', specHash: instance.specHash }],
      generation,
    );
    const { body } = await eventually(
      () => shop.call('GET', '/api/v1/deployments/thin/instances'),
      ({ body: list }) => list[0]?.state === 'running',
    );
    expect(body).toHaveLength(1);
    expect(body[0]).toMatchObject({ id: instance.id, nodeId: 'thin-1', health: 'healthy', wanted: 'run' });
  });
});
