import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { unpack } from '../../src/cli/files/unpack.ts';
import { tarOf } from '../../src/cli/up/tar.ts';
import type { ChannelStart } from '../../src/core/contract/channel-messages.ts';
import type { StreamOperation } from '../../src/core/protocol/agent-protocol.ts';
import { attack } from '../support/attack.ts';
import { channelOf, ScriptedClient, SHELL } from '../support/channel-stage.ts';
import { eventually } from '../support/eventually.ts';
import { BOOTSTRAP } from '../support/harness/caller.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { NodeFlow } from '../support/harness/node-flow.ts';
import type { AgentIdentity, ScriptedAgent } from '../support/agents/scripted-agent.ts';

/** What a reader that does not read may cost the process, in all: buffers of the kernel are not counted. */
const HELD_BYTES = 16 * 2 ** 20;
const FLOOD_BYTES = 256 * 2 ** 20;

let plane: ControlPlane;
let flow: NodeFlow;
let shop: Awaited<ReturnType<ControlPlane['tenant']>>;
let agent: ScriptedAgent;
let identity: AgentIdentity;
let instance: string;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
  shop = await plane.tenant('shop');
  ({ agent, identity } = await flow.connected('n1', shop, {}, { features: ['channels'] }));
  const { id } = await flow.placed(shop, 'web', 'n1');
  instance = id;
  agent.report([{ id, phase: 'running' }]);
  await eventually(
    () => shop.call('GET', '/api/v1/deployments/web/instances'),
    ({ body }) => body[0].state === 'running',
  );
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function token(role: string): Promise<{ readonly id: string; readonly token: string }> {
  return (await shop.call('POST', '/api/v1/tokens', { name: role, role })).body;
}

/** Up to where the agent has opened its side. */
async function joined(headers: Readonly<Record<string, string>>, start: ChannelStart = SHELL, query = '') {
  const client = new ScriptedClient(plane.url, headers, query);
  expect((await client.outcome).status).toBe(101);
  client.say(start);
  const { operation, streamId } = await agent.next('request');
  const { channelId } = operation as Extract<StreamOperation, { readonly kind: 'attach' }>;
  const channel = await channelOf(identity, channelId);
  await eventually(
    async () => client.news[0]?.type,
    (type) => type === 'started',
  );
  return { client, channel, streamId, channelId };
}

attack('a deployer of another tenant', 'a terminal in an instance by its id', async () => {
  const other = await plane.tenant('other');
  await other.call('POST', '/api/v1/deployments', {
    kind: 'Deployment',
    name: 'web',
    image: 'localhost:1/a/b:1',
    replicas: 0,
  });
  const { id } = (await other.call('GET', '/api/v1/deployments/web')).body;
  expect(id).toBeDefined();
  const asked = [
    new ScriptedClient(plane.url, bearer(other.token), `?instance=${instance}`),
    new ScriptedClient(
      plane.url,
      { ...bearer(other.token), 'x-tenant-id': shop.id },
      `?instance=${instance}`,
    ),
    new ScriptedClient(plane.url, bearer(other.token), `?instance=${instance}&tenant=shop`),
  ];
  expect((await Promise.all(asked.map(({ outcome }) => outcome))).map(({ code }) => code)).toEqual([
    'instance_not_found',
    'tenant_forbidden',
    'tenant_forbidden',
  ]);
  expect(agent.received.filter(({ type }) => type === 'request')).toEqual([]);
});

attack('a viewer', 'a terminal', async () => {
  const { token: viewer } = await token('viewer');
  const client = new ScriptedClient(plane.url, bearer(viewer));
  expect(await client.outcome).toEqual({ status: 403, code: 'role_forbidden' });
});

attack('a page of another site', 'a terminal with the cookie of who is signed in', async () => {
  const answer = await fetch(`${plane.url}/api/v1/session`, {
    method: 'POST',
    headers: bearer(shop.token),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  const from = (origin: string) => new ScriptedClient(plane.url, { cookie, origin }).outcome;
  expect(await from('https://elsewhere.example')).toEqual({ status: 403, code: 'origin_forbidden' });
  expect(await from('null')).toEqual({ status: 403, code: 'origin_forbidden' });
  expect(await new ScriptedClient(plane.url, { cookie }).outcome).toEqual({
    status: 403,
    code: 'origin_forbidden',
  });
  // Its own page may.
  const own = new ScriptedClient(plane.url, { cookie, origin: plane.url });
  expect(await own.outcome).toEqual({ status: 101 });
  own.socket.terminate();
});

it('is opened by a page of its own for the tenant in the address, and a refusal is told inside', async () => {
  const signedIn = async (bearing: string) => {
    const answer = await fetch(`${plane.url}/api/v1/session`, { method: 'POST', headers: bearer(bearing) });
    return { cookie: answer.headers.get('set-cookie')?.split(';', 1)[0] ?? '', origin: plane.url };
  };
  const admin = await signedIn(BOOTSTRAP);
  const told = async (query: string, name: string) => {
    const client = new ScriptedClient(plane.url, admin, query, name);
    expect(await client.outcome).toEqual({ status: 101 });
    await client.closed;
    return client.news;
  };
  expect(await told('', 'web')).toMatchObject([{ type: 'end', rejection: { code: 'deployment_not_found' } }]);
  expect(await told('?tenant=shop&instance=ins_0', 'web')).toMatchObject([
    { type: 'end', rejection: { code: 'instance_not_found' } },
  ]);
  const { client, channel } = await joined({ ...admin }, SHELL, '?tenant=shop');
  client.socket.terminate();
  channel.terminate();
  const both = { ...bearer(BOOTSTRAP), 'x-tenant-id': 'platform' };
  expect(await new ScriptedClient(plane.url, both, '?tenant=shop').outcome).toEqual({
    status: 403,
    code: 'tenant_forbidden',
  });
});

attack('a revoked token', 'a terminal that is open', async () => {
  const deployer = await token('deployer');
  const { client, channel, streamId } = await joined(bearer(deployer.token));
  const cut = new Promise<void>((resolve) => channel.once('close', () => resolve()));
  expect((await shop.call('DELETE', `/api/v1/tokens/${deployer.id}`)).status).toBeLessThan(300);
  expect((await agent.next('cancel')).streamId).toBe(streamId);
  await Promise.all([cut, client.closed]);
  expect(client.news.at(-1)).toMatchObject({ type: 'end', rejection: { code: 'unauthenticated' } });
});

attack('a holder of a stolen node credential', 'the terminal of another node', async () => {
  const stranger = await flow.connected('n2', shop, {}, { features: ['channels'] });
  const client = new ScriptedClient(plane.url, bearer(shop.token));
  await client.outcome;
  client.say(SHELL);
  const { operation } = await agent.next('request');
  const { channelId } = operation as Extract<StreamOperation, { readonly kind: 'attach' }>;
  await expect(channelOf(stranger.identity, channelId)).rejects.toThrow('refused');
  const channel = await channelOf(identity, channelId);
  // Nor is it open to a second one.
  await expect(channelOf(identity, channelId)).rejects.toThrow('refused');
  channel.terminate();
  client.socket.terminate();
});

attack(
  'a holder of a stolen node credential',
  'a flood into a terminal that is not read',
  async () => {
    const { client, channel } = await joined(bearer(shop.token));
    client.socket.pause();
    const before = process.memoryUsage().rss;
    const piece = Buffer.alloc(64 * 1024, 1);
    let sent = 0;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss - before);
    }, 50);
    // As fast as the connection takes it, which is not at all once nobody reads.
    const end = performance.now() + 4000;
    while (sent < FLOOD_BYTES && performance.now() < end) {
      const taken = new Promise<boolean>((resolve) =>
        channel.send(piece, { binary: true }, () => resolve(true)),
      );
      if (!(await Promise.race([taken, pause(500).then(() => false)]))) break;
      sent += piece.length;
    }
    clearInterval(watch);
    expect({ sent: sent < HELD_BYTES, most: most < 2 * HELD_BYTES }).toEqual({ sent: true, most: true });
    // Others are served meanwhile.
    expect((await shop.call('GET', '/api/v1/deployments')).status).toBe(200);
    client.socket.terminate();
    channel.terminate();
  },
  20_000,
);

attack('a holder of a stolen node credential', 'messages of its own to who sits at a terminal', async () => {
  const { client, channel } = await joined(bearer(shop.token));
  channel.send(JSON.stringify({ type: 'end', exitCode: 0 }));
  await client.closed;
  const ends = client.news.filter(({ type }) => type === 'end');
  expect(ends).toMatchObject([{ type: 'end', rejection: { code: 'exec_unavailable' } }]);
});

attack('a holder of a stolen node credential', 'files outside of what berth cp asked for', async () => {
  const place = mkdtempSync(join(tmpdir(), 'berth-cp-'));
  const content = Buffer.from('!');
  const archives = [
    tarOf([{ path: 'x/' }, { path: 'x/../../escaped', content }]),
    tarOf([{ path: `${place}/escaped`, content }]),
    tarOf([{ path: 'x/' }, { path: 'x/out', linkTo: place }, { path: 'x/out/escaped', content }]),
  ];
  for (const archive of archives) {
    const { client, channel, streamId } = await joined(bearer(shop.token), { type: 'read', path: '/data' });
    channel.once('close', () => agent.send({ type: 'end', streamId }));
    const bytes = new PassThrough();
    client.socket.on('message', (data: Buffer, isBinary) => isBinary && bytes.write(data.subarray(1)));
    channel.send(Buffer.concat([Buffer.of(1), archive]), { binary: true }, () => channel.close());
    await client.closed;
    bytes.end();
    await unpack(bytes, {
      target: join(place, 'a', 'x'),
      maxBytes: 2 ** 20,
      onFile: () => undefined,
      onSkipped: () => undefined,
    }).catch(() => undefined);
  }
  expect(readdirSync(place)).not.toContain('escaped');
  rmSync(place, { recursive: true });
});
