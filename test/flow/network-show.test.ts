import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { direct, meshed, reaches, relayed, silent } from '../support/agents/meshed.ts';
import { type ObligingOptions, obligingAgent } from '../support/agents/obliging-agent.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { deploy, NodeFlow } from '../support/harness/node-flow.ts';
import { typeCommand } from '../support/harness/typed-command.ts';
import { eventually } from '../support/eventually.ts';

const home = mkdtempSync(join(tmpdir(), 'berth-network-show-'));
let plane: ControlPlane;
let flow: NodeFlow;
let token = '';

const berth = async (line: string): Promise<string> => {
  const environment = { HOME: home, BERTH_CLI_SERVER: plane.url, BERTH_CLI_TOKEN: token };
  const { status, out, err } = await typeCommand(line.split(' '), environment);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  return out;
};

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  const shop = await plane.tenant('shop');
  token = shop.token;
  // Their instances have addresses.
  const judge = () => ({ address: '10.210.0.2' });
  const nodes: Readonly<Record<string, ObligingOptions>> = {
    'berlin-1': {
      judge,
      ...meshed('192.0.2.1'),
      ...reaches(
        () => direct('madrid-1', '192.0.2.2:51820'),
        () => relayed('paris-1'),
      ),
    },
    'madrid-1': {
      judge,
      ...meshed('192.0.2.2'),
      ...reaches(
        () => direct('berlin-1', '192.0.2.1:51820'),
        () => silent('paris-1'),
      ),
    },
    'paris-1': {
      ...meshed('192.0.2.3'),
      ...reaches(
        () => relayed('berlin-1'),
        () => silent('madrid-1'),
      ),
    },
    // Its machine has a route to all of the prefix already.
    'rome-1': meshed('192.0.2.4', ['10.0.0.0/8']),
    'older-1': {},
    'off-1': { said: { features: ['mesh'] } },
  };
  for (const [name, options] of Object.entries(nodes)) await obligingAgent(flow, name, shop, options);
  await deploy(shop.call, 'web', { replicas: 2 });
  await eventually(
    () => shop.call('GET', '/api/v1/deployments/web'),
    ({ body }) => body.status.virtualAddress !== undefined && body.status.running === 2,
  );
  await eventually(
    () => shop.call('GET', '/api/v1/nodes/paris-1'),
    ({ body }) => body.mesh?.subnet !== undefined && body.mesh.peers.length === 2,
  );
});
afterAll(async () => {
  flow.close();
  await plane.close();
  rmSync(home, { recursive: true, force: true });
});

describe("the tenant's network in the terminal", () => {
  it('shows nodes, why some have no part, the ways, and addresses', async () => {
    const out = await berth('network show');
    expect(out).toContain('3 of 6 take part');
    expect(out).toContain('2 direct, 2 relayed, 2 unreachable');
    expect(out).toMatch(/berlin-1 +madrid-1 +direct 192\.0\.2\.2:51820 +1\.2 ms +3 MiB +1 MiB/);
    expect(out).toMatch(/berlin-1 +paris-1 +relayed +41\.5 ms .*no address of paris-1 answers/);
    expect(out).toMatch(/madrid-1 +paris-1 +unreachable .*nor the relay answers/);
    expect(out).toContain('→ let UDP 51820 and 51821 in at paris-1');
    expect(out).toMatch(/→ rome-1: .*overlaps a route of the machine: 10\.0\.0\.0\/8/);
    const { body: events } = await plane.as(token)('GET', '/api/v1/events?kind=node.mesh_no_subnet');
    expect(events).toMatchObject([{ subject: { kind: 'Node', name: 'rome-1' } }]);
    expect(events[0].message).toMatch(
      /10\.0\.0\.0\/8; .*remove the route, or choose another network\.prefix/,
    );
    expect(out).toMatch(/→ older-1: .*earlier release; update berth/);
    expect(out).toMatch(/→ off-1: .*--mesh off; start it with/);
    expect(out).toMatch(/web\.berth\.internal +10\.211\.0\.1 +10\.210\.0\.\d+ on /);
  });

  it('has it all as JSON', async () => {
    const { nodes, deployments } = JSON.parse(await berth('network show -o json'));
    expect(nodes).toHaveLength(6);
    expect(nodes[0]).toMatchObject({
      name: 'berlin-1',
      state: 'joined',
      mesh: { port: 51_820, addresses: ['192.0.2.1'], peers: [{ node: 'madrid-1' }, { node: 'paris-1' }] },
    });
    expect(deployments).toMatchObject([
      { name: 'web', virtualAddress: '10.211.0.1', names: { own: 'web.berth.internal' } },
    ]);
  });

  it('shows one node, and a deployment, with their part of it', async () => {
    const out = await berth('node show berlin-1');
    expect(out).toMatch(/Network\n {2}subnet +10\.210\.\d\.0\/24\n {2}port +UDP 51820 and 51821\n/);
    expect(out).toMatch(/paris-1 +relayed +41\.5 ms/);
    expect(await berth('node show off-1')).toMatch(/state +no part in the tenant's network: .*--mesh off/);
    expect(await berth('describe deployment web')).toMatch(
      /address +10\.211\.0\.1, by the names web and web\.berth\.internal; every instance: instances\.web/,
    );
    expect(await berth('get deployments -o wide')).toContain('10.211.0.1');
  });

  it('is in the warnings of a plan, for the nodes that it chooses', async () => {
    const plan = async (nodeId: string) => {
      const body = { kind: 'Deployment', name: 'api', image: 'registry.test/api:1', replicas: 1, nodeId };
      const { status, body: answer } = await plane.as(token)('POST', '/api/v1/deployments?dryRun=true', body);
      expect(status).toBe(200);
      // Beside what is said of its registry, which nobody runs here.
      return answer.warnings.flatMap(({ code, field, why }: Record<string, string>) =>
        field === 'plan.instances' ? `${code}: ${why}` : [],
      );
    };
    expect(await plan('off-1')).toEqual([
      expect.stringMatching(/^node_without_network: off-1 has no part .*--mesh off/),
    ]);
    expect(await plan('rome-1')).toEqual([expect.stringContaining('berth node show rome-1 says why')]);
    expect(await plan('paris-1')).toEqual([
      expect.stringMatching(/^network_relayed: paris-1 reaches berlin-1 through the relay/),
      expect.stringMatching(/^network_unreachable: paris-1 does not reach madrid-1/),
    ]);
  });

  it('is said before anything is stored: nobody serves the host that a deployment is to have', async () => {
    const call = plane.as(token);
    const spec = { name: 'shop', image: 'registry.test/shop:1', replicas: 0 };
    const ingress = [{ host: 'shop.example.com', port: 80 }];
    const planned = await call('POST', '/api/v1/deployments?dryRun=true', { ...spec, ingress });
    expect(planned.body.warnings).toContainEqual(
      expect.objectContaining({ code: 'ingress_unserved', why: expect.stringContaining('--ingress') }),
    );
    const plain = await call('POST', '/api/v1/deployments?dryRun=true', spec);
    expect(JSON.stringify(plain.body.warnings)).not.toContain('ingress_unserved');
    const line = 'run --host shop.example.com --name shop --image registry.test/shop:1';
    const environment = { HOME: home, BERTH_CLI_SERVER: plane.url, BERTH_CLI_TOKEN: token };
    const { status, out, err } = await typeCommand(line.split(' '), environment);
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(/nobody serves --host; nothing was stored[^]*--ingress on[^]*--no-wait/);
    expect((await call('GET', '/api/v1/deployments/shop')).status).toBe(404);
  });

  it('keeps the address of a deployment that is deleted, for it alone: restored, it has it again', async () => {
    const call = plane.as(token);
    const addressOf = (name: string) =>
      eventually(
        async () => (await call('GET', `/api/v1/deployments/${name}`)).body.status.virtualAddress,
        (address) => address !== undefined,
      );
    const { body: backup } = await call('POST', '/api/v1/backups', { deploymentName: 'web' });
    expect((await call('DELETE', '/api/v1/deployments/web')).status).toBe(200);
    await deploy(call, 'next', { replicas: 0 });
    expect(await addressOf('next')).toBe('10.211.0.2');
    expect((await call('POST', `/api/v1/backups/${backup.id}/restore`)).status).toBe(201);
    expect(await addressOf('web')).toBe('10.211.0.1');
  });

  it('gives each of many deployments an address of its own, and a name that comes back the one it had', async () => {
    const call = plane.as(token);
    const names = Array.from({ length: 60 }, (_, at) => `many-${at}`);
    const addressOf = async (name: string): Promise<string | undefined> =>
      (await call('GET', `/api/v1/deployments/${name}`)).body.status?.virtualAddress;
    const addresses = () => Promise.all(names.map(addressOf));
    const isGiven = (all: readonly unknown[]): boolean => all.every((one) => one !== undefined);
    await Promise.all(names.map((name) => deploy(call, name, { replicas: 0 })));
    const given = await eventually(addresses, isGiven);
    expect(new Set(given).size).toBe(60);
    expect(given).not.toContain('10.211.0.1');
    await call('DELETE', '/api/v1/deployments/many-7');
    await deploy(call, 'another', { replicas: 0 });
    const another = await eventually(
      () => addressOf('another'),
      (address) => address !== undefined,
    );
    expect(given).not.toContain(another);
    await deploy(call, 'many-7', { replicas: 0 });
    expect(await eventually(addresses, isGiven)).toEqual(given);
  });
});
