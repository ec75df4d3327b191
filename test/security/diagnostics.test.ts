import { afterAll, beforeAll, describe, expect } from 'vitest';
import { AGENT_LOG_FEATURE } from '../../src/core/protocol/agent-protocol.ts';
import { ISSUED_EXAMPLES } from '../../src/core/rules/credentials/published-examples.ts';
import { parsedRecord } from '../../src/core/model/values.ts';
import { Client } from '../../src/sdk/index.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { attack } from '../support/attack.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';

const TOKEN = Object.values(ISSUED_EXAMPLES)[0] ?? '';
const SYSTEM = ['/api/v1/system/logs', '/api/v1/system/debug'];
const AGENT = '/api/v1/nodes/watched/logs';
const HISTORIES = ['/api/v1/deployments/quiet/history', '/api/v1/nodes/watched/history'];

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let bank: Awaited<ReturnType<ControlPlane['tenant']>>;
let agent: ScriptedAgent;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  bank = await plane.tenant('bank');
  const quiet = { name: 'quiet', image: 'localhost:1/shop/quiet:1', replicas: 0 };
  expect((await shop.call('POST', '/api/v1/deployments', quiet)).status).toBe(201);
  ({ agent } = await flow.connected('watched', shop, undefined, { features: [AGENT_LOG_FEATURE] }));
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

const audited = async (): Promise<number> =>
  (await plane.admin('GET', '/api/v1/audit?limit=1000')).body.filter((line: { action: string }) =>
    /log_read|debugged/.test(line.action),
  ).length;

attack('anybody', 'the log and a report of a control plane, and the log of an agent', async () => {
  for (const path of [...SYSTEM, AGENT]) {
    const { status } = await fetch(`${plane.url}${path}`);
    expect([path, status]).toEqual([path, 401]);
  }
  expect(await audited()).toBe(0);
});

attack('a viewer', 'the log and a report of a control plane, and the log of an agent', async () => {
  const made = await shop.call('POST', '/api/v1/tokens', { name: 'eyes', role: 'viewer' });
  const viewer = plane.as(made.body.token as string);
  for (const path of [...SYSTEM, AGENT]) {
    const { status, body } = await viewer('GET', path);
    expect([path, status, body.code]).toEqual([path, 403, 'role_forbidden']);
  }
});

attack(
  'an administrator of a tenant',
  'the log of a control plane, and of an agent of another tenant',
  async () => {
    for (const path of SYSTEM) expect((await shop.call('GET', path)).body.code).toBe('role_forbidden');
    expect((await bank.call('GET', AGENT)).body.code).toBe('node_not_found');
  },
);

attack('anybody', 'the last 24 hours of a deployment and of a node', async () => {
  for (const path of HISTORIES) {
    const answer = await fetch(`${plane.url}${path}`);
    expect([path, answer.status]).toEqual([path, 401]);
  }
});

attack('a viewer of another tenant', 'the last 24 hours of a deployment and of a node by name', async () => {
  const made = await bank.call('POST', '/api/v1/tokens', { name: 'eyes', role: 'viewer' });
  const viewer = plane.as(made.body.token as string);
  const codes: string[] = [];
  for (const path of HISTORIES) {
    expect((await shop.call('GET', path)).status).toBe(200);
    codes.push((await viewer('GET', path)).body.code);
    codes.push((await viewer('GET', path, undefined, { 'x-tenant-id': shop.id })).body.code);
  }
  expect(codes).toEqual(['deployment_not_found', 'tenant_forbidden', 'node_not_found', 'tenant_forbidden']);
});

// Megabytes that are searched for credentials.
describe.runIf(LONG_TIER)('a log that is flooded', () => {
  attack(
    'a holder of a stolen node credential',
    'a flood into a log that is read, with credentials in it',
    async () => {
      const client = new Client({ url: plane.url, token: shop.token });
      const seen: string[] = [];
      const reading = (async () => {
        const asked = {
          params: { name: 'watched' },
          query: { follow: true },
          resume: false,
          persistent: false,
        };
        for await (const { event, data } of client.frames('GET /api/v1/nodes/{name}/logs', asked)) {
          seen.push(event === 'log' ? String(parsedRecord(data)['line']) : event);
          if (event === 'end') return String(parsedRecord(data)['reason']);
        }
        return 'broken off';
      })();
      const { streamId } = await agent.next('request', ({ operation }) => operation.kind === 'agent-log');
      agent.send({ type: 'data', streamId, text: `{"message":"got ${TOKEN}"}\n`, channel: 'stdout' });
      // Without regard to what it was granted, in lines without an end.
      for (let count = 0; count < 60; count += 1)
        agent.send({ type: 'data', streamId, text: 'x'.repeat(256 * 1024), channel: 'stdout' });
      expect(await reading).toContain('more than it was granted');
      expect(seen[0]).toMatch(/^\{"message":"<redacted: \w+>"\}$/);
      expect(seen.join('')).not.toContain(TOKEN);
      expect(seen.join('').length).toBeLessThan(2 ** 20);
      expect((await shop.call('GET', '/api/v1/nodes')).status).toBe(200);
    },
  );
});
