import { expect } from 'vitest';
import type { InstanceId, NodeName, TenantId } from '../../src/core/model/ids.ts';
import type { InstanceRecord } from '../../src/core/model/instance.ts';
import { joinId } from '../../src/server/store/keys.ts';
import type { Caller, ControlPlane } from './control-plane.ts';
import { type AgentIdentity, type AgentKey, agentKey, NODE_FACTS, ScriptedAgent } from './scripted-agent.ts';

export interface TestTenant {
  readonly id: string;
  readonly call: Caller;
}

export function nodeFacts(nodeName: string, key: AgentKey) {
  return { nodeName, ...NODE_FACTS, publicKey: key.publicKey };
}

export async function joinToken(call: Caller, body: Readonly<Record<string, string>> = {}): Promise<string> {
  const { status, body: made } = await call('POST', '/api/v1/join-tokens', body);
  expect(status).toBe(201);
  return made.token as string;
}

export async function eventually<T>(read: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + 5000;
  for (;;) {
    const value = await read();
    if (fits(value)) return value;
    if (performance.now() > deadline) throw new Error(`not reached: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function deploy(
  call: Caller,
  name: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const body = { kind: 'Deployment', name, image: 'localhost:1/shop/web:1.0.0', replicas: 1, ...more };
  const answer = await call('POST', '/api/v1/deployments', body);
  expect(answer.body.code).toBeUndefined();
  expect(answer.status).toBe(201);
}

/** Enrolled and connected agents of one control plane. */
export class NodeFlow {
  readonly #plane: ControlPlane;
  readonly #agents: ScriptedAgent[] = [];
  #placed = 0;

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  async enrolled(nodeName: string, tenant: TestTenant): Promise<AgentIdentity> {
    const key = agentKey();
    const call = this.#plane.as(await joinToken(tenant.call));
    const { status, body } = await call('POST', '/api/v1/nodes', nodeFacts(nodeName, key));
    expect(status).toBe(201);
    return { url: this.#plane.url, node: nodeName, token: body.nodeToken as string, key };
  }

  dial(...args: ConstructorParameters<typeof ScriptedAgent>): ScriptedAgent {
    const agent = new ScriptedAgent(...args);
    this.#agents.push(agent);
    return agent;
  }

  async connected(nodeName: string, tenant: TestTenant) {
    const identity = await this.enrolled(nodeName, tenant);
    const agent = this.dial(identity);
    await agent.welcome();
    await agent.next('assignment');
    return { identity, agent };
  }

  /** What the controllers write: an instance of a deployment on a node. */
  async place(
    tenant: TestTenant,
    name: string,
    node: string,
    change: Partial<InstanceRecord> = {},
  ): Promise<InstanceRecord> {
    const store = this.#plane.store.forTenant(tenant.id as TenantId);
    const deployment = store.get('deployments', joinId(name))?.record;
    if (deployment === undefined) throw new Error(`no deployment ${name}`);
    this.#placed += 1;
    const instance: InstanceRecord = {
      id: `ins_${String(this.#placed).padStart(26, '0')}` as InstanceId,
      tenantId: tenant.id as TenantId,
      deployment: name,
      specHash: deployment.specHash,
      secretsVersion: deployment.spec.secretsVersion,
      nodeId: node as NodeName,
      wanted: 'run',
      createdAt: new Date().toISOString(),
      attempt: 0,
      ...change,
    };
    await store.commit(store.transaction().put('instances', joinId(name, instance.id), instance));
    return instance;
  }

  async unplace(tenant: TestTenant, instance: InstanceRecord): Promise<void> {
    const store = this.#plane.store.forTenant(tenant.id as TenantId);
    const id = joinId(instance.deployment, instance.id);
    await store.commit(store.transaction().delete('instances', id).delete('observations', id));
  }

  close(): void {
    for (const agent of this.#agents) agent.close();
  }
}
