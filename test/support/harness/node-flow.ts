import { expect } from 'vitest';
import type { TenantId } from '../../../src/core/model/ids.ts';
import type { InstanceRecord } from '../../../src/core/model/instance.ts';
import { prefixOf } from '../../../src/server/store/record-ids.ts';
import type { Caller, ControlPlane } from './control-plane.ts';
import { eventually } from '../eventually.ts';
import {
  type AgentIdentity,
  type AgentKey,
  agentKey,
  NODE_FACTS,
  ScriptedAgent,
} from '../agents/scripted-agent.ts';

type Labels = Readonly<Record<string, string>>;

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

/** Kinds of the events of a subject that start with one of the words, in order. */
export async function eventKinds(call: Caller, subject: string, words: readonly string[]): Promise<string[]> {
  const { body } = await call('GET', `/api/v1/events?subject=${subject}`);
  const kinds: string[] = body.map(({ kind }: { kind: string }) => kind);
  return kinds.filter((kind) => words.some((word) => kind.startsWith(word)));
}

/** A process of its own shows its store to nobody. */
type Plane = Pick<ControlPlane, 'url' | 'as'> & Partial<Pick<ControlPlane, 'store'>>;

/** Enrolled and connected agents of one control plane. */
export class NodeFlow {
  readonly #plane: Plane;
  readonly #agents: ScriptedAgent[] = [];

  constructor(plane: Plane) {
    this.#plane = plane;
  }

  async enrolled(
    nodeName: string,
    tenant: TestTenant,
    labels: Labels = NODE_FACTS.labels,
  ): Promise<AgentIdentity> {
    const key = agentKey();
    const call = this.#plane.as(await joinToken(tenant.call));
    const { status, body } = await call('POST', '/api/v1/nodes', { ...nodeFacts(nodeName, key), labels });
    expect(status).toBe(201);
    return { url: this.#plane.url, node: nodeName, token: body.nodeToken as string, key };
  }

  dial(...args: ConstructorParameters<typeof ScriptedAgent>): ScriptedAgent {
    const agent = new ScriptedAgent(...args);
    this.#agents.push(agent);
    return agent;
  }

  async connected(
    nodeName: string,
    tenant: TestTenant,
    labels: Labels = NODE_FACTS.labels,
    said: Parameters<ScriptedAgent['welcome']>[0] = {},
  ) {
    const identity = await this.enrolled(nodeName, tenant, labels);
    const agent = this.dial(identity);
    await agent.welcome({ labels, ...said });
    await agent.next('assignment');
    await eventually(
      () => tenant.call('GET', `/api/v1/nodes/${nodeName}`),
      ({ body }) => body.status === 'ready',
    );
    return { identity, agent };
  }

  /** A deployment on that node, as the controllers place it. */
  async placed(
    tenant: TestTenant,
    name: string,
    node: string,
    more: Readonly<Record<string, unknown>> = {},
  ): Promise<InstanceRecord> {
    await deploy(tenant.call, name, { nodeId: node, ...more });
    const [first] = await this.instances(tenant, name, 1);
    if (first === undefined) throw new Error(`${name} has no instance`);
    expect(first.nodeId).toBe(node);
    return first;
  }

  /** The instances of a deployment, once there are so many that are to run. */
  async instances(tenant: TestTenant, name: string, count: number): Promise<readonly InstanceRecord[]> {
    const { store } = this.#plane;
    if (store === undefined) throw new Error('the store of another process cannot be read');
    const instances = store.forTenant(tenant.id as TenantId).collection('instances');
    const read = async () =>
      instances
        .listUnder(prefixOf('instances', name))
        .flatMap(({ record }) => (record.wanted === 'run' ? [record] : []));
    return eventually(read, (found) => found.length === count);
  }

  close(): void {
    for (const agent of this.#agents) agent.close();
  }
}
