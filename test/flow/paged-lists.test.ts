import { afterAll, beforeAll, expect, it } from 'vitest';
import { nextLink } from '../../src/core/contract/next-link.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy, NodeFlow } from '../support/harness/node-flow.ts';
import { eventually } from '../support/eventually.ts';

/** Lists that belong to one record: page by page they are what they are at once. */

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

async function pageByPage(list: string) {
  const found: Record<string, unknown>[] = [];
  for (let path: string | undefined = list; path !== undefined && found.length < 10; ) {
    const { status, body, headers } = await shop.call('GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toHaveLength(1);
    found.push(...body);
    path = nextLink(headers.get('link'));
  }
  return found;
}

it('containers of a node', async () => {
  const { agent } = await flow.connected('n1', shop);
  const list = '/api/v1/nodes/n1/containers';
  const stop = agent.answer('containers', [
    { id: 'c2', name: 'web' },
    { id: 'c3', name: 'db' },
    { id: 'c1', name: 'web' },
  ]);
  const { body } = await shop.call('GET', list);
  expect(body).toEqual([
    { id: 'c3', name: 'db' },
    { id: 'c1', name: 'web' },
    { id: 'c2', name: 'web' },
  ]);
  expect(await pageByPage(`${list}?limit=1`)).toEqual(body);
  stop();
});

it('consumers of a secret', async () => {
  const secrets = ['A', 'B'].map((name) => ({
    name,
    vault_path: 'resources/shared',
    anchor: 'external',
    rotation: 'restart',
  }));
  for (const name of ['web', 'api']) await deploy(shop.call, name, { replicas: 0, secrets });
  for (const name of ['hook', 'alarm']) {
    const signing = { vault_path: 'resources/shared', key: 'k' };
    const url = 'https://example.com/';
    expect((await shop.call('POST', '/api/v1/webhooks', { name, url, signing })).status).toBe(201);
  }
  const list = '/api/v1/secrets/resources/shared/consumers';
  const { body } = await shop.call('GET', list);
  expect(
    body.map(({ deployment, webhook, secret }: Record<string, string>) => [deployment ?? webhook, secret]),
  ).toEqual([
    ['api', 'A'],
    ['api', 'B'],
    ['web', 'A'],
    ['web', 'B'],
    ['alarm', 'signing'],
    ['hook', 'signing'],
  ]);
  expect(await pageByPage(`${list}?limit=1`)).toEqual(body);
});

it('failures of a deployment', async () => {
  const { agent } = await flow.connected('n2', shop);
  const { id } = await flow.placed(shop, 'failing', 'n2');
  await flow.placed(shop, 'other', 'n2');
  const list = '/api/v1/deployments/failing/failures';
  const fail = (key: string) => {
    const failures = [{ instanceId: id, key, reason: 'container_exited', message: key, lines: [] }];
    const report = {
      type: 'report',
      epoch: agent.epoch,
      generation: 1,
      full: false,
      observations: [],
    } as const;
    agent.send({ ...report, failures });
  };
  const kept = async (keys: readonly string[]) => {
    const { body } = await eventually(
      () => shop.call('GET', list),
      (answer) => answer.body[0]?.message === keys[0],
    );
    expect(body.map(({ message }: { message: string }) => message)).toEqual(keys);
    return body;
  };
  fail('first');
  await kept(['first']);
  fail('second');
  const body = await kept(['second', 'first']);
  expect(await pageByPage(`${list}?limit=1`)).toEqual(body);

  // The one that a page ended with may be gone before the next is asked for.
  const { headers } = await shop.call('GET', `${list}?limit=1`);
  const next = nextLink(headers.get('link')) ?? '';
  fail('third');
  await kept(['third', 'second']);
  fail('fourth');
  await kept(['fourth', 'third']);
  expect((await shop.call('GET', next)).body).toEqual([]);
});
