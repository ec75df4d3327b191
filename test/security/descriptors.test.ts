import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { ApiClient } from '../support/harness/api-client.ts';
import { attack } from '../support/attack.ts';
import { nodeFacts } from '../support/harness/node-flow.ts';
import { agentKey, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import {
  type SpawnedControlPlane,
  spawnControlPlane,
  UNREACHABLE_IMAGE,
} from '../support/harness/server-under-test.ts';

const DESCRIPTORS = 300;
const WAIT_MS = 10_000;

let dataDir: string;
let plane: SpawnedControlPlane;
let viewer: string;
let deployer: string;
let enrol: string;
let nodes = 0;

async function tokenOf(tenant: string, role: string): Promise<string> {
  const { status, text, body } = await plane.api.post('/api/v1/tokens', { name: role, role }, { tenant });
  if (status !== 201) throw new Error(text);
  return body['token'] as string;
}

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'berth-descriptors-'));
  plane = await spawnControlPlane({ dataDir, descriptors: DESCRIPTORS });
  for (const slug of ['shop', 'bank']) await plane.api.post('/api/v1/tenants', { slug });
  viewer = await tokenOf('shop', 'viewer');
  deployer = await tokenOf('bank', 'deployer');
  enrol = await tokenOf('bank', 'tenant-admin');
  identity = await enrolNode();
});
afterAll(async () => {
  await plane.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** Opens an event stream; answers the status, or 0 when the connection came to nothing. */
function openStream(token: string, opened: Set<{ destroy(): unknown }>): Promise<number> {
  return new Promise((resolve) => {
    const request = get(`${plane.url}/api/v1/events`, {
      agent: false,
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    });
    opened.add(request);
    request.setTimeout(WAIT_MS, () => resolve(0));
    request.on('error', () => resolve(0));
    request.on('response', (response) => {
      response.on('error', () => undefined);
      resolve(response.statusCode ?? 0);
    });
  });
}

function openSilent(opened: Set<{ destroy(): unknown }>): Promise<void> {
  const { hostname, port } = new URL(plane.url);
  return new Promise((resolve) => {
    const socket: Socket = connect(Number(port), hostname, () => resolve());
    opened.add(socket);
    socket.on('error', () => resolve());
  });
}

/** Each over a connection that is made now. */
async function served(): Promise<{ health: number; write: string; agent: boolean }> {
  const fresh = new ApiClient(plane.url, deployer);
  nodes += 1;
  const name = `web-${nodes}`;
  try {
    const health = await fresh.send('GET', '/healthz').then(
      ({ status }) => status,
      () => 0,
    );
    const written = await fresh
      .send('POST', '/api/v1/deployments', { body: { name, image: UNREACHABLE_IMAGE, replicas: 1 } })
      .then(
        ({ status, body }) => `${status} ${String(body['code'] ?? body['name'])}`,
        () => 'no answer',
      );
    return { health, write: written, agent: await agentGetsIn(identity) };
  } finally {
    fresh.close();
  }
}

let identity: ConstructorParameters<typeof ScriptedAgent>[0];

async function enrolNode(): Promise<typeof identity> {
  const key = agentKey();
  const node = 'berlin-1';
  const { body, text } = await plane.api.send('POST', '/api/v1/nodes', {
    token: enrol,
    body: nodeFacts(node, key),
  });
  if (body['nodeToken'] === undefined) throw new Error(text);
  return { url: plane.url, node, token: body['nodeToken'] as string, key };
}

async function agentGetsIn(of: typeof identity): Promise<boolean> {
  const agent = new ScriptedAgent(of);
  try {
    await agent.welcome();
    return true;
  } catch {
    return false;
  } finally {
    agent.close();
  }
}

attack('viewer', 'event streams until the descriptors of the control plane run out', async () => {
  const opened = new Set<{ destroy(): unknown }>();
  try {
    const statuses = await Promise.all(Array.from({ length: DESCRIPTORS }, () => openStream(viewer, opened)));
    const count = (status: number): number => statuses.filter((one) => one === status).length;
    const seen = { streams: count(200), refused: count(429), ...(await served()) };
    expect(seen, JSON.stringify(seen)).toMatchObject({ health: 200, agent: true });
    expect(seen.write).toMatch(/^201 /);
    expect(seen.streams).toBeLessThanOrEqual(100);
    expect(seen.refused).toBeGreaterThan(100);
    const refused = await plane.api.send('GET', '/api/v1/events', {
      token: viewer,
      headers: { accept: 'text/event-stream' },
    });
    expect(refused.body).toMatchObject({ code: 'stream_limit_reached', field: 'Authorization' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  } finally {
    for (const one of opened) one.destroy();
  }
});

attack('anybody', 'connections that say nothing until the descriptors run out', async () => {
  const opened = new Set<{ destroy(): unknown }>();
  try {
    await Promise.all(Array.from({ length: 2 * DESCRIPTORS }, () => openSilent(opened)));
    const seen = await served();
    expect(seen).toMatchObject({ health: 200, agent: true });
    // Nobody is left waiting: it is written, or refused with a word about why.
    expect(seen.write).toMatch(/^201 |^503 connection_limit_reached/);
  } finally {
    for (const one of opened) one.destroy();
  }
});
