import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StreamRequest } from '../../src/core/protocol/agent-protocol.ts';
import type { InstanceObservation, InstanceRecord } from '../../src/core/model/instance.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import type { AgentIdentity, ScriptedAgent } from '../support/agents/scripted-agent.ts';

/** A followed log goes on over everything that happens to the instances of its deployment. */

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let identity: AgentIdentity;
let agent: ScriptedAgent;
let first: InstanceRecord;
let second: InstanceRecord;
let text = '';
const reading = new AbortController();

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  ({ agent, identity } = await flow.connected('n1', shop));
  first = await flow.placed(shop, 'web', 'n1');
  const response = await fetch(`${plane.url}/api/v1/deployments/web/logs?follow=true&tail=7`, {
    headers: { authorization: `Bearer ${shop.token}` },
    signal: reading.signal,
  });
  void (async () => {
    for await (const piece of response.body ?? []) text += Buffer.from(piece).toString();
  })().catch(() => undefined);
});
afterAll(async () => {
  reading.abort();
  flow.close();
  await plane.close();
});

const states = new Map<string, InstanceObservation>();

function seen({ id, specHash }: InstanceRecord, more: Partial<InstanceObservation>): void {
  states.set(id, { id, phase: 'running', specHash, secretsVersion: 0, ...more });
  agent.report([...states.values()]);
}

function isLogOf({ id }: InstanceRecord): (request: StreamRequest) => boolean {
  return ({ operation }) => operation.kind === 'logs' && operation.instanceId === id;
}

/** The line arrives at the reader, under the name of its instance. */
async function arrives({ id }: InstanceRecord, streamId: string, line: string): Promise<void> {
  agent.send({ type: 'data', streamId, text: `${line}\n`, channel: 'stdout' });
  const entry = JSON.stringify({ instance: id, nodeId: 'n1', channel: 'stdout', line });
  await eventually(
    async () => text,
    (all) => all.includes(entry),
  );
}

describe('a followed log', () => {
  let stream: StreamRequest;

  it('begins with what the reader asked for', async () => {
    stream = await agent.next('request', isLogOf(first));
    expect(stream.operation).toEqual({ kind: 'logs', instanceId: first.id, follow: true, tail: 7 });
    await arrives(first, stream.streamId, 'from the first');
    seen(first, { containerId: 'c1', startedAt: 't1' });
  });

  it('is joined by an instance that comes later, from its first line, as soon as it has a container', async () => {
    await shop.call('PUT', '/api/v1/deployments/web', { replicas: 2 });
    const instances = await flow.instances(shop, 'web', 2);
    second = instances.find(({ id }) => id !== first.id) as InstanceRecord;
    seen(second, { phase: 'pulling' });
    seen(second, { containerId: 'c2', startedAt: 't1' });
    const joined = await agent.next('request', isLogOf(second));
    expect(joined.operation).toEqual({ kind: 'logs', instanceId: second.id, follow: true });
    await arrives(second, joined.streamId, 'from the second');
    await arrives(first, stream.streamId, 'still from the first');
  });

  it('goes on when the container is started again, and from the start when it is another one', async () => {
    agent.send({ type: 'end', streamId: stream.streamId });
    seen(first, { phase: 'exited', containerId: 'c1', startedAt: 't1', exitCode: 1 });
    seen(first, { containerId: 'c1', startedAt: 't2' });
    stream = await agent.next('request', isLogOf(first));
    expect(stream.operation).toMatchObject({ sinceSeconds: expect.any(Number) });
    await arrives(first, stream.streamId, 'after the restart');
    agent.send({ type: 'end', streamId: stream.streamId });
    seen(first, { containerId: 'c3', startedAt: 't3' });
    stream = await agent.next('request', isLogOf(first));
    expect(stream.operation).toEqual({ kind: 'logs', instanceId: first.id, follow: true });
    await arrives(first, stream.streamId, 'from the new container');
  });

  it('says that an agent is gone, and goes on when it is back', async () => {
    agent.close();
    await eventually(
      async () => text,
      (all) => all.includes('event: problem') && all.includes('session of the agent ended'),
    );
    agent = flow.dial(identity);
    await agent.welcome();
    for (const instance of [first, second]) {
      const again = await agent.next('request', isLogOf(instance));
      expect(again.operation).toMatchObject({ sinceSeconds: expect.any(Number) });
      await arrives(instance, again.streamId, 'after the break');
    }
    expect(text).not.toContain('event: end');
  });

  it('ends with the deployment', async () => {
    await shop.call('DELETE', '/api/v1/deployments/web');
    await agent.next(
      'assignment',
      ({ instances }) => instances.every(({ wanted }) => wanted === 'stop') && instances.length === 2,
    );
    for (const instance of [first, second]) seen(instance, { phase: 'removed' });
    agent.close();
    await eventually(
      async () => text,
      (all) => all.includes('event: end'),
    );
  });
});
