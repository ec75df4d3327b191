import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeliveringAgent } from '../support/agents/delivering-agent.ts';
import { eventually } from '../support/eventually.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy, NodeFlow } from '../support/harness/node-flow.ts';

/** A restart, of a deployment or of one instance, while something else is done to the same instances. */

const HEALTH = { type: 'exec', command: ['probe'], retries: 3 };

let plane: ControlPlane;
let flow: NodeFlow;
const agents: DeliveringAgent[] = [];

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  for (const agent of agents) agent.stop();
  flow.close();
  await plane.close();
});

interface Shown {
  readonly id: string;
  readonly nodeId: string;
}

/** A tenant with two nodes, and so many healthy instances of `web`. */
async function stage(slug: string, replicas: number, more: Readonly<Record<string, unknown>> = {}) {
  const tenant = await plane.tenant(slug);
  const { call } = tenant;
  const own = new Map<string, DeliveringAgent>();
  for (const node of [`${slug}-1`, `${slug}-2`]) {
    const agent = new DeliveringAgent((await flow.connected(node, tenant)).agent);
    own.set(node, agent);
    agents.push(agent);
  }
  const read = async () => (await call('GET', '/api/v1/deployments/web')).body;
  const instances = async (): Promise<readonly Shown[]> =>
    (await call('GET', '/api/v1/deployments/web/instances')).body;
  const ids = async () => (await instances()).map(({ id }) => id);
  const settled = () =>
    eventually(
      `web of ${slug} runs`,
      read,
      ({ status, specHash }) =>
        status.phase === 'Running' &&
        status.instances.length === replicas &&
        status.instances.every((one: { specHash: string }) => one.specHash === specHash),
    );
  /** Every instance is another one, and they stay. */
  const replaced = async (before: readonly string[]) => {
    const now = await eventually(
      `web of ${slug} is replaced`,
      ids,
      (found) => found.length === replicas && !found.some((id) => before.includes(id)),
    );
    await settled();
    expect(await ids()).toEqual(now);
    return now;
  };
  /** What runs, as the agents have it: the fewest meanwhile. */
  const fewest = async <T>(work: () => Promise<T>): Promise<number> => {
    let least = replicas;
    const look = setInterval(() => {
      const count = [...own.values()].reduce((sum, agent) => sum + agent.of('web').length, 0);
      least = Math.min(least, count);
    }, 5);
    try {
      await work();
    } finally {
      clearInterval(look);
    }
    return least;
  };
  const held = () => [...own.values()].flatMap((agent) => agent.of('web'));
  const ordered = async (path: string, body?: object) => {
    const answer = await call('POST', path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const restart = (body?: object) => ordered('/api/v1/deployments/web/restart', body);
  await deploy(call, 'web', { replicas, healthCheck: HEALTH, ...more });
  await settled();
  return { tenant, call, read, instances, ids, settled, replaced, fewest, held, ordered, restart };
}

describe('a restart while a node is drained', () => {
  it.each(['before', 'after'] as const)(
    'moves everything, and misses nothing (%s the drain)',
    async (when) => {
      const { instances, ids, replaced, fewest, ordered, restart } = await stage(`drain-${when}`, 4);
      const before = await ids();
      const left = `drain-${when}-1`;
      expect(
        await fewest(async () => {
          if (when === 'before') await restart();
          await ordered(`/api/v1/nodes/${left}/drain`);
          if (when === 'after') await restart();
          await replaced(before);
        }),
      ).toBeGreaterThanOrEqual(3);
      expect((await instances()).filter(({ nodeId }) => nodeId === left)).toEqual([]);
    },
  );

  it('of one instance in its place: it leaves all the same', async () => {
    const { instances, ordered, settled, call } = await stage('drain-one', 2);
    const one = (await instances()).find(({ nodeId }) => nodeId === 'drain-one-1');
    await ordered('/api/v1/nodes/drain-one-1/drain');
    const { status } = await call('POST', `/api/v1/deployments/web/instances/${one?.id}/restart`);
    // It may be stopping, or gone, by then.
    expect([200, 404, 409]).toContain(status);
    await eventually(
      'nothing is there',
      instances,
      (all) => all.length === 2 && all.every(({ nodeId }) => nodeId === 'drain-one-2'),
    );
    await settled();
  });
});

describe('a restart at the quota', () => {
  it('makes room first, and ends', async () => {
    const { ids, replaced, fewest, ordered, restart } = await stage('full', 2);
    await plane.admin('PUT', '/api/v1/tenants/full/quota', { containers: 2 });
    const least = await fewest(async () => {
      const before = await ids();
      await restart();
      const then = await replaced(before);
      await ordered('/api/v1/nodes/full-1/drain');
      await restart();
      await replaced(then);
    });
    expect(least).toBeGreaterThanOrEqual(1);
  });

  it('of one instance, in its place or by another one', async () => {
    const { ids, settled, ordered, restart } = await stage('brim', 2);
    await plane.admin('PUT', '/api/v1/tenants/brim/quota', { containers: 2 });
    const [first = '', second = ''] = await ids();
    await ordered(`/api/v1/deployments/web/instances/${first}/restart`);
    await settled();
    expect(await ids()).toEqual([first, second]);
    await ordered(`/api/v1/deployments/web/instances/${first}/stop`);
    await restart({ instance: second });
    await eventually(
      'both are others',
      ids,
      (now) => now.length === 2 && !now.includes(first) && !now.includes(second),
    );
    await settled();
  });
});

describe('a restart in the middle of a rotation', () => {
  it('delivers what the phase says, in each of them', async () => {
    const secrets = [{ name: 'DB', vault_path: 'resources/db', anchor: 'external' }];
    const { call, ids, settled, replaced, held, ordered, restart } = await stage('turn', 2);
    await call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'one' } });
    await call('PUT', '/api/v1/deployments/web', { secrets });
    const has = (expected: object) =>
      eventually(
        `both have ${JSON.stringify(expected)}`,
        held,
        (all) => all.length === 2 && all.every((one) => JSON.stringify(one) === JSON.stringify(expected)),
      );
    await has({ DB_password: 'one' });
    await settled();
    const rotate = '/api/v1/deployments/web/secrets/rotate';
    for (const [phase, more, expected] of [
      ['stage', { values: { password: 'two' } }, { DB_password: 'one', DB_password_NEXT: 'two' }],
      ['promote', {}, { DB_password: 'two', DB_password_PREVIOUS: 'one' }],
      ['retire', {}, { DB_password: 'two' }],
    ] as const) {
      const before = await ids();
      await ordered(rotate, { phase, ...more });
      await restart();
      const [first = ''] = await replaced(before);
      await has(expected);
      await ordered(`/api/v1/deployments/web/instances/${first}/restart`);
      await settled();
      await has(expected);
    }
  });
});
