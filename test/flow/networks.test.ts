import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerMessage } from '../../src/core/protocol/agent-protocol.ts';
import type { NetworkObservation } from '../../src/core/model/network.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { eventKinds, NodeFlow, type TestTenant } from '../support/harness/node-flow.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: TestTenant;
let agent: ScriptedAgent;
beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  ({ agent } = await flow.connected('shop-1', shop));
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

type Assigned = Extract<ServerMessage, { readonly type: 'assignment' }>;

/** The newest assignment, once its networks are these. */
async function assigned(one: ScriptedAgent, names: readonly string[]): Promise<Assigned> {
  const wanted = JSON.stringify(names);
  const matching = async () =>
    one.received
      .filter((message): message is Assigned => message.type === 'assignment')
      .slice(-1)
      .filter(({ networks }) => JSON.stringify(networks?.map(({ name }) => name)) === wanted);
  const [found] = await eventually(matching, ({ length }) => length > 0);
  if (found === undefined) throw new Error('no assignment');
  return found;
}

function report(one: ScriptedAgent, generation: number, networks: readonly NetworkObservation[]): void {
  one.send({ type: 'report', epoch: one.epoch, generation, full: false, observations: [], networks });
}

const read = (name: string) => shop.call('GET', `/api/v1/networks/${name}`);

describe('a network', () => {
  it('goes to the only node, which is announced, in the wire format alone, and is ready when the agent says so', async () => {
    const made = await shop.call('POST', '/api/v1/networks', { name: 'backend', internal: true });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ nodeId: 'shop-1', driver: 'bridge', labels: {}, internal: true });
    expect(made.body.alterations.map(({ field, to }: Record<string, string>) => [field, to])).toEqual([
      ['driver', 'bridge'],
      ['labels', '{}'],
      ['nodeId', 'shop-1'],
    ]);
    expect(made.body.status).toEqual({ phase: 'Pending', message: expect.stringContaining('shop-1') });
    const { networks, generation } = await assigned(agent, ['backend']);
    expect(networks).toEqual([{ name: 'backend', driver: 'bridge', labels: {}, internal: true }]);

    report(agent, generation, [{ name: 'backend', state: 'failed', message: 'no address pool is left' }]);
    await eventually(
      () => read('backend'),
      ({ body }) => body.status.phase === 'Failed',
    );
    expect((await read('backend')).body.status.message).toBe('no address pool is left');
    report(agent, generation, [{ name: 'backend', state: 'ready' }]);
    await eventually(
      () => read('backend'),
      ({ body }) => body.status.phase === 'Ready',
    );
    expect(await eventKinds(shop.call, 'backend', ['network'])).toEqual([
      'network.created',
      'network.failed',
      'network.ready',
    ]);
    const listed = await shop.call('GET', '/api/v1/networks');
    expect(listed.body.map(({ name }: { name: string }) => name)).toEqual(['backend']);
  });

  it('is taken as YAML', async () => {
    const answer = await fetch(`${plane.url}/api/v1/networks`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${(shop as TestTenant & { token: string }).token}`,
        'content-type': 'application/yaml',
      },
      body: 'name: from-yaml\nlabels:\n  team: shop\n',
    });
    expect(answer.status).toBe(201);
    expect((await assigned(agent, ['backend', 'from-yaml'])).networks?.[1]?.labels).toEqual({ team: 'shop' });
  });

  it('is not believed of another node, of another tenant or of an older assignment', async () => {
    const bank = await plane.tenant('bank');
    const other = await flow.connected('bank-1', bank);
    const second = await flow.connected('shop-2', shop);
    const { generation } = await assigned(agent, ['backend', 'from-yaml']);
    for (const { agent: one } of [other, second]) report(one, 1, [{ name: 'from-yaml', state: 'ready' }]);
    report(agent, generation - 1, [{ name: 'from-yaml', state: 'ready' }]);
    // Each is taken in the order of its session: what is told next is seen after it.
    report(agent, generation, [{ name: 'backend', state: 'failed', message: 'after the others' }]);
    await eventually(
      () => read('backend'),
      ({ body }) => body.status.message === 'after the others',
    );
    for (const { agent: one } of [other, second]) {
      one.send({ type: 'ask', epoch: one.epoch, instanceIds: ['ins_none'] });
      await one.next('verdict');
    }
    expect((await read('from-yaml')).body.status.phase).toBe('Pending');
    expect((await bank.call('GET', '/api/v1/networks')).body).toEqual([]);
    expect((await bank.call('GET', '/api/v1/networks/backend')).body.code).toBe('network_not_found');
  });

  it('needs a name of a node as soon as two are available, and no longer when one of them takes nothing', async () => {
    const refused = await shop.call('POST', '/api/v1/networks', { name: 'third' });
    expect(refused.body).toMatchObject({ code: 'network_node_required', expected: 'one of: shop-1, shop-2' });
    await shop.call('POST', '/api/v1/nodes/shop-2/cordon');
    const made = await shop.call('POST', '/api/v1/networks', { name: 'third' });
    expect(made.body.nodeId).toBe('shop-1');
    await assigned(agent, ['backend', 'from-yaml', 'third']);
  });

  it('stays while something is attached, and is taken out of the assignment when it is deleted', async () => {
    let stop = agent.answer('network-containers', ['web', 'api']);
    const refused = await shop.call('DELETE', '/api/v1/networks/backend');
    expect([refused.status, refused.body.code]).toEqual([409, 'network_in_use']);
    expect(refused.body.why).toBe('Attached on shop-1: web, api.');
    stop();
    stop = agent.answer('network-containers', []);
    const { body } = await read('backend');
    const stale = await shop.call('DELETE', '/api/v1/networks/backend', undefined, { 'if-match': '"1"' });
    expect(stale.body.code).toBe('revision_mismatch');
    const deleted = await shop.call('DELETE', '/api/v1/networks/backend', undefined, {
      'if-match': `"${String(body.revision)}"`,
    });
    expect(deleted.status).toBe(200);
    stop();
    await assigned(agent, ['from-yaml', 'third']);
    expect((await read('backend')).status).toBe(404);
  });

  it('starts anew under an old name: what was seen of the old one is forgotten', async () => {
    await shop.call('POST', '/api/v1/networks', { name: 'backend', nodeId: 'shop-1' });
    expect((await read('backend')).body.status.phase).toBe('Pending');
  });

  it('is in the first assignment of a new session', async () => {
    agent.close();
    const { identity } = await flow.connected('shop-3', shop);
    const made = await shop.call('POST', '/api/v1/networks', { name: 'on-three', nodeId: 'shop-3' });
    expect(made.status).toBe(201);
    const again = flow.dial(identity);
    await again.welcome();
    expect((await again.next('assignment')).networks?.map(({ name }) => name)).toEqual(['on-three']);
  });

  it('goes with a node that is deleted by force', async () => {
    const refused = await shop.call('DELETE', '/api/v1/nodes/shop-3');
    expect([refused.body.code, refused.body.why]).toEqual(['node_in_use', 'shop-3 still holds 1 networks.']);
    expect((await shop.call('DELETE', '/api/v1/nodes/shop-3?force=true')).status).toBe(200);
    expect((await read('on-three')).status).toBe(404);
  });
});

it('cannot be placed while the store is away: the candidates cannot be confirmed', async () => {
  const away = await startControlPlane();
  const lone = new NodeFlow(away);
  try {
    const tenant = await away.tenant('lone');
    await lone.enrolled('lone-1', tenant);
    await away.store.kv.close();
    const { status, body } = await tenant.call('POST', '/api/v1/networks', { name: 'backend' });
    expect([status, body.code, body.field]).toEqual([503, 'network_node_candidates_unresolvable', 'nodeId']);
  } finally {
    lone.close();
    await away.close().catch(() => undefined);
  }
});
