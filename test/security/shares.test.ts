import { get, type ClientRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { agentKey, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

const PER_ADDRESS = 20;
const CROWDED = '127.0.0.2';
const ELSEWHERE = '127.0.0.3';

let plane: ControlPlane;
let shop: TestTenant;
let bank: TestTenant;
const opened = new Set<Socket | ClientRequest>();

beforeAll(async () => {
  plane = await startControlPlane({
    config: {
      'limits.connectionsPerAddress': PER_ADDRESS,
      'limits.connectionsExempt': ['127.0.0.1'],
      'limits.streamsPerToken': 3,
      'limits.streamsPerTenant': 5,
    },
  });
  [shop, bank] = [await plane.tenant('shop'), await plane.tenant('bank')];
});
afterEach(() => {
  for (const one of opened) one.destroy();
  opened.clear();
});
afterAll(() => plane.close());

function silent(localAddress: string): Promise<Socket> {
  const { hostname: host, port } = new URL(plane.url);
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), localAddress }, () => resolve(socket));
    opened.add(socket);
    socket.on('error', () => resolve(socket));
  });
}

/** The status of a request over a connection of its own, which is kept if the answer lasts. */
function asked(path: string, token: string, more: { localAddress?: string; accept?: string } = {}) {
  return new Promise<{ status: number; text: string; request: ClientRequest }>((resolve, fail) => {
    const { accept = 'application/json', ...from } = more;
    const headers = { authorization: `Bearer ${token}`, accept };
    const request = get(`${plane.url}${path}`, { agent: false, headers, ...from });
    opened.add(request);
    request.on('error', fail);
    request.on('response', (response) => {
      response.on('error', () => undefined);
      response.once('data', (first: Buffer) =>
        resolve({ status: response.statusCode ?? 0, text: first.toString(), request }),
      );
    });
  });
}

const stream = (token: string) => asked('/api/v1/events', token, { accept: 'text/event-stream' });

attack('viewer', 'more streams than one token, or one tenant, may hold', async () => {
  const { viewer, deployer } = shop.tokens;
  const mine = [await stream(viewer), await stream(viewer), await stream(viewer)];
  expect(mine.map(({ status }) => status)).toEqual([200, 200, 200]);
  const fourth = await stream(viewer);
  expect([fourth.status, fourth.text]).toEqual([429, expect.stringContaining('3 open streams of the token')]);
  // Logs and commands are streams too; they are refused before anything is looked up.
  const logs = await asked('/api/v1/deployments/none/logs', viewer);
  expect(logs.text).toContain('stream_limit_reached');
  const others = [await stream(deployer), await stream(deployer), await stream(deployer)];
  expect(others.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(others[2]?.text).toContain('5 open streams of the tenant');
  // The platform is not locked out by a tenant, nor is another tenant; what ends makes room.
  expect((await stream(bank.tokens.viewer)).status).toBe(200);
  expect((await asked('/api/v1/events', viewer)).status).toBe(200);
  mine[0]?.request.destroy();
  await eventually(
    () => stream(viewer),
    ({ status }) => status === 200,
  );
});

attack('anybody', 'all the connections that one address can make', async () => {
  const key = agentKey();
  const enrolled = await plane.api.call('POST', '/api/v1/nodes', {
    token: shop.tokens['tenant-admin'],
    body: nodeFacts('berlin-1', key),
  });
  const identity = { url: plane.url, node: 'berlin-1', token: String(enrolled.body['nodeToken']), key };
  const all = await Promise.all(Array.from({ length: 5 * PER_ADDRESS }, () => silent(CROWDED)));
  await eventually(
    async () => all.filter(({ closed }) => closed).length,
    (count) => count >= 3 * PER_ADDRESS,
  );
  for (const socket of all.filter(({ closed }) => !closed).slice(0, PER_ADDRESS - 5)) socket.destroy();
  const from = (localAddress: string) => asked('/api/v1/deployments', shop.tokens.viewer, { localAddress });
  await eventually(
    () => from(CROWDED).catch(() => ({ status: 0, text: '' })),
    ({ status, text }) => status === 429 && text.includes('connection_limit_reached'),
  );
  expect((await from(ELSEWHERE)).status).toBe(200);
  expect((await asked('/healthz', '', { localAddress: CROWDED })).status).toBe(200);
  // Sessions are counted apart, so that agents behind one address all get in.
  const agent = new ScriptedAgent(identity, { localAddress: CROWDED });
  await agent.welcome();
  agent.close();
});
