import pino from 'pino';
import { expect, it } from 'vitest';
import { PLATFORM_CONTAINER_DEFAULTS } from '../../../core/model/container-defaults.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import { idOf } from '../../store/record-ids.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import type { AgentSession } from '../sessions/session.ts';
import { Assignments } from './assignments.ts';
import { PlacedInstances } from './placed-instances.ts';
import { PlacedVolumes } from './placed-volumes.ts';

const TENANT = '00000000-0000-4000-8000-000000000001' as TenantId;

interface Sent {
  readonly node: string;
  readonly instances: readonly {
    readonly id: string;
    readonly container: { readonly environment: object };
  }[];
}

/** Nodes with sessions; each text that is sent is kept. */
async function connected(nodes: readonly string[]) {
  const kv = createMemoryKv();
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  const store = new Store(kv, view);
  const tenant = store.forTenant(TENANT);
  const sent: Sent[] = [];
  const sessions = new Map(
    nodes.map((node) => [
      node,
      {
        key: `${TENANT}/${node}`,
        identity: { tenantId: TENANT, node, epoch: 1 },
        generation: 0,
        assignmentDigest: '',
        sendText: (text: string) => sent.push({ node, ...(JSON.parse(text) as Omit<Sent, 'node'>) }),
      } as unknown as AgentSession,
    ]),
  );
  const assignments = new Assignments({
    store,
    placed: new PlacedInstances(view),
    volumes: new PlacedVolumes(view),
    session: (_tenant, node) => sessions.get(node),
    containerDefaults: PLATFORM_CONTAINER_DEFAULTS,
    log: pino({ level: 'silent' }),
  });
  const change = async (write: (transaction: ReturnType<typeof tenant.transaction>) => void) => {
    const transaction = tenant.transaction();
    write(transaction);
    await tenant.commit(transaction);
  };
  for (const node of nodes)
    await change((to) =>
      to.put('nodes', idOf('nodes', node), {
        name: node,
        features: [],
        capacity: {},
      } as unknown as NodeRecord),
    );
  return { assignments, sessions, sent, change };
}

function specOf(name: string, value: string): DeploymentSpec {
  return { name, image: 'localhost:5000/shop/web:1', environment: { V: value } } as unknown as DeploymentSpec;
}

function instance(id: string, deployment: string, specHash: string, nodeId: string): InstanceRecord {
  const rest = { secretsVersion: 0, attempt: 0, wanted: 'run', createdAt: '2026-01-01T00:00:00Z' };
  return { id, tenantId: TENANT, deployment, specHash, nodeId, ...rest } as unknown as InstanceRecord;
}

it('instances of one spec are sent as each was by itself, and another spec of the same deployment is its own', async () => {
  const { sent, change } = await connected(['one']);
  await change((to) => {
    for (const hash of ['old', 'new']) to.put('specs', idOf('specs', 'web', hash), specOf('web', hash));
    to.put('specs', idOf('specs', 'api', 'new'), specOf('api', 'other'));
    for (const [id, of, hash] of [
      ['a', 'web', 'old'],
      ['b', 'web', 'new'],
      ['c', 'web', 'new'],
      ['d', 'api', 'new'],
    ] as const)
      to.put('instances', idOf('instances', of, id), instance(id, of, hash, 'one'));
  });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(sent).toHaveLength(1);
  expect(sent[0]?.instances.map(({ id, container }) => [id, container.environment])).toEqual([
    ['a', { V: 'old' }],
    ['b', { V: 'new' }],
    ['c', { V: 'new' }],
    ['d', { V: 'other' }],
  ]);
});

it('what concerns many nodes is written down in many turns, and a node that is spoken to meanwhile has its own first', async () => {
  const nodes = Array.from({ length: 9 }, (_, at) => `node-${at}`);
  const { assignments, sessions, sent, change } = await connected(nodes);
  const put = (value: string) =>
    change((to) => to.put('specs', idOf('specs', 'web', 'h'), specOf('web', value)));
  await put('first');
  for (const node of nodes)
    await change((to) =>
      to.put('instances', idOf('instances', 'web', `of-${node}`), instance(`of-${node}`, 'web', 'h', node)),
    );
  await new Promise((resolve) => setTimeout(resolve, 20));
  sent.length = 0;
  await put('x'.repeat(300_000));
  const byTurn: number[] = [];
  while (sent.length < nodes.length && byTurn.length < 100) {
    const before = sent.length;
    if (before === 2) assignments.pushDue(sessions.get('node-8') as AgentSession);
    await new Promise((resolve) => setImmediate(resolve));
    byTurn.push(sent.length - before);
  }
  expect(Math.max(...byTurn)).toBeLessThanOrEqual(3);
  expect(sent.map(({ node }) => node)).toEqual(['node-0', 'node-1', 'node-8', ...nodes.slice(2, 8)]);
});
