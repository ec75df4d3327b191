import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { nextLink } from '../../src/core/contract/next-link.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, NodeFlow } from '../support/harness/node-flow.ts';
import { NODE_FACTS } from '../support/agents/scripted-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;

beforeAll(async () => {
  plane = await startControlPlane(['--node-name', 'n19'], { BERTH_AGENTS_SESSIONS_PER_SECOND: '500' });
  shop = await plane.tenant('shop');
  flow = new NodeFlow(plane);
});

afterAll(async () => {
  flow.close();
  await plane.close();
});

interface Unschedulable {
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const GERMAN = { 'berth.io/country': 'DE', disk: 'ssd' };

/** What each of the twenty machines is, and which words of its line in the event have to say why it does not do. */
const NODES: readonly (readonly [
  node: string,
  labels: Readonly<Record<string, string>>,
  words: readonly string[],
  mode?: 'cordon' | 'silent' | 'small',
])[] = [
  ...range(0, 4).map((name) => [name, { ...GERMAN, 'berth.io/country': 'FR' }, ['DE', 'FR']] as const),
  ...range(4, 7).map((name) => [name, { disk: 'ssd' }, ['DE', 'berth.io/country']] as const),
  ...range(7, 10).map((name) => [name, { ...GERMAN, disk: 'hdd' }, ['disk', 'ssd', 'hdd']] as const),
  ...range(10, 13).map((name) => [name, GERMAN, ['cordon'], 'cordon'] as const),
  ...range(13, 15).map((name) => [name, GERMAN, ['connect'], 'silent'] as const),
  ...range(15, 19).map((name) => [name, GERMAN, ['needs 2 cores', '1 free of 1'], 'small'] as const),
  ['n19', GERMAN, ['control plane']],
];

function range(from: number, to: number): readonly string[] {
  return Array.from({ length: to - from }, (_, index) => `n${String(from + index).padStart(2, '0')}`);
}

async function machine([name, labels, , mode]: (typeof NODES)[number]): Promise<void> {
  const identity = await flow.enrolled(name, shop, labels);
  if (mode === 'silent') return;
  const capacity = mode === 'small' ? { cpu: 1, memoryBytes: 2 ** 30 } : NODE_FACTS.capacity;
  const agent = flow.dial(identity);
  await agent.welcome({ labels, capacity });
  await agent.next('assignment');
  if (mode === 'cordon') await shop.call('POST', `/api/v1/nodes/${name}/cordon`);
}

const events = async (): Promise<readonly Unschedulable[]> =>
  (await shop.call('GET', '/api/v1/events?kind=deployment.unschedulable&subject=web')).body;

/** How often the controller has looked at a deployment so far. */
async function decisions(): Promise<number> {
  const { body } = await plane.admin('GET', '/metrics');
  return Number(
    /berth_controller_decision_seconds_count\{controller="instances"\} (\d+)/.exec(body)?.[1] ?? 0,
  );
}

describe('a deployment that none of twenty nodes takes', () => {
  it('is told once, with every node and its reasons, and again only when the reasons change', async () => {
    for (const node of NODES) await machine(node);
    await deploy(shop.call, 'web', {
      resources: { requests: { cpu: 2 } },
      placement: { residency: { country: 'DE' }, constraints: { disk: 'ssd' } },
    });
    const [event] = await eventually(events, (all) => all.length > 0);
    const lines = event?.message.split('\n') ?? [];
    for (const [node, , words] of NODES) {
      const line = lines.find((text) => text.startsWith(`${node}: `));
      for (const word of words) expect([node, line]).toEqual([node, expect.stringContaining(word)]);
    }
    expect(lines.filter((line) => /^n\d\d: /.test(line))).toHaveLength(20);
    expect(event?.message).not.toContain(': fits');

    const { body } = await shop.call('GET', '/api/v1/deployments/web');
    // The status gives a summary only; the deployment has no container and no instance.
    expect(body.status).toMatchObject({ placed: 0, running: 0, instances: [] });
    expect(body.status.message).toMatch(/ nodes? .*more reasons/);

    // Room that may have appeared makes it look again; the same reasons are not told twice.
    const attempts = await decisions();
    const { status } = await plane.admin('PUT', '/api/v1/tenants/shop/quota', { containers: 1000 });
    expect(status).toBe(200);
    await eventually(decisions, (count) => count > attempts);
    expect(await events()).toHaveLength(1);
    await shop.call('POST', '/api/v1/nodes/n00/cordon');
    const told = await eventually(events, (all) => all.length > 1);
    expect(told).toHaveLength(2);
    expect(told[1]?.message.split('\n').find((line) => line.startsWith('n00: '))).toMatch(
      /cordon.*FR|FR.*cordon/,
    );

    // A node that fits takes it.
    await shop.call('POST', '/api/v1/nodes/n10/uncordon');
    const { body: placed } = await eventually(
      () => shop.call('GET', '/api/v1/deployments/web'),
      ({ body: seen }) => seen.status.placed === 1,
    );
    expect(placed.status.instances[0]).toMatchObject({ nodeId: 'n10' });
  });

  it('has its nodes explained in pages, each with what keeps how many of all', async () => {
    const path = '/api/v1/deployments/web/explain';
    const all: string[] = [];
    const instances: string[] = [];
    let next: string | undefined = `${path}?limit=8`;
    let pages = 0;
    while (next !== undefined) {
      const { body, headers } = await shop.call('GET', next);
      const link = nextLink(headers.get('link'));
      expect(body).toMatchObject({ total: 20, fitting: 1, chosen: { node: 'n10' } });
      expect(body.refused.reduce((sum: number, { nodes }: { nodes: number }) => sum + nodes, 0)).toBe(19);
      expect(link === undefined).toBe(body.cursor === undefined);
      all.push(...body.nodes.map(({ node }: { node: string }) => node));
      instances.push(...body.instances.map(({ node }: { node: string }) => node));
      next = link;
      pages += 1;
    }
    expect([pages, all]).toEqual([3, range(0, 20)]);
    expect(instances).toEqual(['n10']);
    const failed: string[] = [];
    // A page ends at its bytes, too.
    for (next = `${path}?failed=true`; next !== undefined; ) {
      const { body, headers } = await shop.call('GET', next);
      failed.push(...body.nodes.map(({ node }: { node: string }) => node));
      next = nextLink(headers.get('link'));
    }
    expect(failed).toEqual(all.filter((node) => node !== 'n10'));
    const one = (await shop.call('GET', `${path}?node=n08`)).body;
    expect(one.nodes).toMatchObject([{ node: 'n08', fits: false, reasons: [{ filter: 'constraints' }] }]);
    expect(one.nodes[0].outcomes.length).toBeGreaterThan(10);
    expect((await shop.call('GET', `${path}?node=nowhere`)).body.nodes).toEqual([]);
    for (const wrong of ['failed=maybe', 'node=No!'])
      expect((await shop.call('GET', `${path}?${wrong}`)).body.code).toBe('query_parameter_invalid');
  });
});
