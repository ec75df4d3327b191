import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../support/eventually.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { inTier } from '../support/fault-tier.ts';
import { MESH_RELAY_PATH, readMeshFrame, writeMeshFrame } from '../../src/core/protocol/mesh-frame.ts';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { meshed } from '../support/agents/meshed.ts';
import { joinToken, NodeFlow, nodeFacts } from '../support/harness/node-flow.ts';
import { PlaneProcess, type Tenant } from '../support/harness/plane-process.ts';
import { healthOf, type Planes, startPlanes } from '../support/harness/planes.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';
import { agentKey } from '../support/agents/scripted-agent.ts';

/** Three control planes on one etcd: real processes, a real etcd, nodes that live by script. */

/** 20 in the long tier; `BERTH_TEST_KILLS` sets another number. */
const KILLS = Number(process.env['BERTH_TEST_KILLS'] ?? inTier({ usual: 2, long: 20 }));
/** Each takes a lease and a start; a busy machine is given more. */
const KILL_MS = 30_000;
const STOPS = inTier({ usual: 1, long: 5 });
/** An owner is stopped at least for so long, and in any case until another one has done its work. */
const STOPPED_MS = inTier({ usual: 0, long: 15_000 });
const PAIRS = inTier({ usual: 200, long: 1000 });
const TAKEOVER_LIMIT_MS = 10_000;
const NODES = 3;
/** Each asked for at three control planes at once. */
const HOSTS = inTier({ usual: 10, long: 200 });
const TOLD_MS = 2_000;
const SHARDS = 64;

let etcd: Etcd;
let registry: PushedImageRegistry;
let planes: Planes;
let shop: Tenant & { readonly token: string };
const agents: LiveAgent[] = [];
const nodeTokens: string[] = [];
/** Every instance that was ever put into the store for the first time, as the store tells it. */
const created = new Map<string, number>();

beforeAll(async () => {
  [etcd, registry] = await Promise.all([startEtcd(), startPushedImage()]);
  planes = await startPlanes(etcd, 3, {
    BERTH_TIMERS_USAGE: '1s',
    BERTH_REGISTRIES_ALLOW_PRIVATE: registry.config['registries.allowPrivate'].join(','),
  });
  shop = await planes.first.tenant('shop');
  planes.kv.watch(`h/t/${shop.id}/instances/`, await planes.kv.head(), {
    onBatch: ({ changes }) => {
      for (const { entry, revision } of changes)
        if (entry?.createRevision === revision) created.set(entry.key, (created.get(entry.key) ?? 0) + 1);
    },
    onLost: (reason) => {
      throw new Error(reason);
    },
  });
  for (let index = 0; index < NODES; index += 1) {
    const node = `n${index}`;
    const key = agentKey();
    const plane = planes.members[index % planes.members.length] ?? planes.first;
    const call = plane.as(await joinToken(shop.call));
    const { body } = await call('POST', '/api/v1/nodes', nodeFacts(node, key));
    nodeTokens.push(body.nodeToken as string);
    agents.push(new LiveAgent({ node, key, token: body.nodeToken as string }, planes.addresses, index));
  }
  await eventually('all nodes are ready', nodeStatuses, (all) => all.every((status) => status === 'ready'));
});

afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await planes?.stop();
  await registry?.stop();
  await etcd?.stop();
});

async function nodeStatuses(): Promise<readonly string[]> {
  const { body } = await as(planes.first)('GET', '/api/v1/nodes');
  return (body as { status: string }[]).map(({ status }) => status);
}

function as(plane: PlaneProcess): Tenant['call'] {
  return plane.as(shop.token);
}

function deployment(name: string, replicas: number): Record<string, unknown> {
  return { kind: 'Deployment', name, image: registry.image, replicas };
}

async function heldShards(): Promise<number> {
  const healths = await Promise.all(planes.members.map(healthOf));
  return healths.reduce((sum, health) => sum + (health?.held ?? 0), 0);
}

async function settled(): Promise<void> {
  await eventually('every shard is held', heldShards, (held) => held === SHARDS);
}

async function ownerOfShop(): Promise<PlaneProcess> {
  const owner = await eventually(
    'the tenant has an owner',
    () => planes.owner(shop.id),
    (found) => found !== undefined,
  );
  if (owner === undefined) throw new Error('no owner');
  return owner;
}

/** Running instances of the deployment; the plane that answers may be any. */
async function running(plane: PlaneProcess, name: string): Promise<number> {
  const { body } = await as(plane)('GET', `/api/v1/deployments/${name}/instances`);
  return (body as { state?: string }[]).filter(({ state }) => state === 'running').length;
}

function createdOf(name: string): number {
  return [...created].filter(([key]) => key.includes(`/instances/${name}/`)).length;
}

/** Nothing was ordered twice: each instance came to be once, and was started once by the node it is on. */
function expectNothingTwice(): void {
  expect([...created.values()].filter((times) => times > 1)).toEqual([]);
  const starts = new Map<string, number>();
  for (const agent of agents)
    for (const [id, times] of agent.started) starts.set(id, (starts.get(id) ?? 0) + times);
  expect([...starts].filter(([, times]) => times > 1)).toEqual([]);
}

interface PastFigures {
  readonly cpuCoresMax: readonly (number | null)[];
  readonly wanted: readonly (number | null)[];
  readonly partial: boolean;
}

describe('three control planes that start at once on an empty etcd', () => {
  it('agree on one installation and share the shards', async () => {
    await settled();
    const healths = await Promise.all(planes.members.map(healthOf));
    expect(healths.every((health) => (health?.held ?? 0) > 0)).toBe(true);
    const tenants = await Promise.all(planes.members.map(({ admin }) => admin('GET', '/api/v1/tenants')));
    const platform = tenants.map(({ body }) =>
      (body as { slug: string; id: string }[]).filter(({ slug }) => slug === 'platform').map(({ id }) => id),
    );
    expect(new Set(platform.flat()).size).toBe(1);
    expect(platform.flat()).toHaveLength(3);
  });

  it.each([
    ['BERTH_KEYS_TOKEN_KEY_FILE', 'token_key_mismatch'],
    ['BERTH_KEYS_ROOT_KEY_FILE', 'root_key_mismatch'],
  ])('refuse a fourth with another key (%s): %s', async (variable, code) => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-other-key-'));
    // The root key is only made where the store has none: a foreign one is put there.
    const foreign = new PlaneProcess({ BERTH_KEYS_ROOT_KEY_FILE: join(folder, 'key') });
    if (code === 'root_key_mismatch') await foreign.start();
    const fourth = new PlaneProcess({ ...planes.environment, [variable]: join(folder, 'key') });
    await expect(fourth.start()).rejects.toThrow(code);
    await fourth.dispose();
    await foreign.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('any control plane serves any request', () => {
  it(`shows at one what another acknowledged: ${PAIRS} pairs`, async () => {
    const stale: string[] = [];
    const lanes = 8;
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        for (let index = lane; index < PAIRS; index += lanes) {
          const writer = planes.members[index % 3] ?? planes.first;
          const reader = planes.members[(index + 1) % 3] ?? planes.first;
          const name = `pair-${index}`;
          const written = await as(writer)('POST', '/api/v1/deployments', deployment(name, 0));
          expect(written.status).toBe(201);
          const read = await as(reader)('GET', `/api/v1/deployments/${name}`);
          if (read.status !== 200) stale.push(name);
        }
      }),
    );
    expect(stale).toEqual([]);
  });

  it('takes a token that another one gave out a moment ago, and refuses a revoked one', async () => {
    const [first, second] = planes.members;
    if (first === undefined || second === undefined) throw new Error('too few');
    for (let round = 0; round < 20; round += 1) {
      const made = await as(first)('POST', '/api/v1/tokens', { name: `t${round}`, role: 'viewer' });
      const token = made.body.token as string;
      expect((await second.as(token)('GET', '/api/v1/deployments')).status).toBe(200);
      await as(second)('DELETE', `/api/v1/tokens/${made.body.id as string}`);
      expect((await first.as(token)('GET', '/api/v1/deployments')).status).toBe(401);
    }
  });

  it('reaches an agent wherever it is connected: logs and commands', async () => {
    await as(planes.first)('POST', '/api/v1/deployments', deployment('talk', 3));
    await eventually(
      'it runs',
      () => running(planes.first, 'talk'),
      (count) => count === 3,
    );
    for (const plane of planes.members) {
      const logs = await as(plane)('GET', '/api/v1/deployments/talk/logs');
      expect(logs.status).toBe(200);
      expect((logs.body as string).match(/log of /g)).toHaveLength(3);
      const { body: instances } = await as(plane)('GET', '/api/v1/deployments/talk/instances');
      for (const { id } of instances as { id: string }[]) {
        const body = { command: ['echo', id], instance: id };
        const answer = await as(plane)('POST', '/api/v1/deployments/talk/exec', body);
        expect(answer).toMatchObject({ status: 200, body: { exitCode: 7, stdout: `echo ${id}` } });
      }
    }
  });

  it('sees what agents measured wherever they are connected, and tells of it at every one', async () => {
    const policy = { minReplicas: 3, maxReplicas: 3, targetCpuPercent: 50 };
    const path = '/api/v1/deployments/talk/scaling-policy';
    expect((await as(planes.first)('PUT', path, policy)).status).toBe(201);
    for (const plane of planes.members)
      await eventually(
        'all three are measured',
        async () => (await as(plane)('GET', path)).body.status as { measured?: number } | null,
        (status) => status?.measured === 3,
      );
    // Each of them has the agent of another instance: a list has the figures of all.
    for (const plane of planes.members) {
      const { body } = await as(plane)('GET', '/api/v1/deployments/talk/instances');
      const figures = (body as { usage?: { cpuPercent?: number } }[]).map(({ usage }) => usage?.cpuPercent);
      expect(figures).toEqual([50, 50, 50]);
    }
    // Likewise the history: each keeps what its agents measured, and one of them what the records say.
    // Steps of an answer may begin before what is kept.
    for (const plane of planes.members)
      for (const query of ['', '?since=1h&step=30m'])
        await eventually(
          `the history of all three ${query}`,
          async () =>
            (await as(plane)('GET', `/api/v1/deployments/talk/history${query}`)).body as Partial<PastFigures>,
          ({ cpuCoresMax, wanted, partial }) =>
            cpuCoresMax?.includes(1.5) === true && wanted?.includes(3) === true && partial === undefined,
        );
  });

  it('hands a node that fetches a copy on to the control plane where the copy waits', async () => {
    const [asked, meant] = planes.members;
    if (asked === undefined || meant === undefined) throw new Error('too few');
    const { id } = (await healthOf(meant)) ?? { id: '' };
    const url = `${asked.url.replace('http', 'ws')}/agent/v1/relay/${id}-${'0'.repeat(40)}`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${nodeTokens[0]}` } });
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    socket.on('error', () => undefined);
    socket.terminate();
    expect(answer.statusCode).toBe(404);
    await eventually(
      'it was there',
      () => meant.log(),
      (log) => log.includes('copy of a volume refused'),
    );
    expect(asked.log()).not.toContain('copy of a volume refused');
  });

  it('lets the nodes of a tenant meet at one relay, wherever each has dialled', async () => {
    const heard = new Set<string>();
    const sockets = nodeTokens.map((token, at) => {
      const url = `${planes.members[at]?.url.replace('http', 'ws')}${MESH_RELAY_PATH}`;
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
      socket.on('message', (data: Buffer) => heard.add(`${readMeshFrame(data)?.node} to n${at}`));
      return socket;
    });
    await Promise.all(sockets.map((socket) => once(socket, 'open')));
    const pairs = [0, 1, 2].flatMap((from) => [0, 1, 2].filter((to) => to !== from).map((to) => [from, to]));
    await eventually(
      'each hears each',
      () => {
        for (const [from = 0, to] of pairs) sockets[from]?.send(writeMeshFrame(`n${to}`, Buffer.from('x')));
        return [...heard];
      },
      (all) => all.length === pairs.length,
    );
    for (const socket of sockets) socket.terminate();
  });

  it('gives a host to one of two that ask at the same time, and every deployment an address of its own', async () => {
    // A second try has names of its own.
    const slug = `net-${randomUUID().slice(0, 8)}`;
    const net = await planes.first.tenant(slug);
    const at = (index: number) =>
      (planes.members[index % planes.members.length] ?? planes.first).as(net.token);
    const far = new NodeFlow(planes.members[1] ?? planes.first);
    const near = far.dial(await far.enrolled(slug, net));
    await near.welcome(meshed('192.0.2.7').said);
    const make = (plane: number, name: string, more: object) =>
      at(plane)('POST', '/api/v1/deployments', { ...deployment(name, 0), ...more });
    for (let round = 0; round < HOSTS; round += 1) {
      const ingress = [{ host: `h${round}.${slug}.example.com`, port: 80 }];
      const answers = await Promise.all(
        [0, 1, 2].map((one) => make(round + one, `host-${round}-${one}`, { ingress })),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
      const refused = answers.filter(({ status }) => status === 409);
      expect(refused.map(({ body }) => body.code)).toEqual(['ingress_host_taken', 'ingress_host_taken']);
    }
    const made = await eventually(
      'all have an address',
      async () =>
        (await at(2)('GET', '/api/v1/deployments')).body as { status: { virtualAddress?: string } }[],
      (all) => all.length === HOSTS && all.every(({ status }) => status.virtualAddress !== undefined),
    );
    expect(new Set(made.map(({ status }) => status.virtualAddress)).size).toBe(HOSTS);
    // An agent is told what was written at another control plane than its own.
    await make(0, 'db', { access: { from: [] } });
    for (const from of [[], ['ingress']]) {
      const began = performance.now();
      expect((await at(2)('PUT', '/api/v1/deployments/db', { access: { from } })).status).toBe(200);
      // As a whole map where the ways in of the others are told with it.
      await eventually(
        'told',
        () => {
          expect(near.socket.readyState, 'the session is over').toBe(near.socket.OPEN);
          return near.received;
        },
        (all) =>
          all.some(
            (told) =>
              (told.type === 'mesh' || told.type === 'mesh-change') &&
              told.services.some((one) => one.name === 'db' && isDeepStrictEqual(one.from, from)),
          ),
      );
      expect(performance.now() - began).toBeLessThan(TOLD_MS);
    }
    far.close();
  });

  it('hands nobody else on: who is no node gets no way to another control plane', async () => {
    const [, asked, meant] = planes.members;
    if (asked === undefined || meant === undefined) throw new Error('too few');
    const { id } = (await healthOf(meant)) ?? { id: '' };
    const url = `${asked.url.replace('http', 'ws')}/agent/v1/relay/${id}-${'0'.repeat(40)}`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${shop.token}` } });
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    socket.on('error', () => undefined);
    socket.terminate();
    expect(answer.statusCode).toBe(403);
    expect(meant.log()).not.toContain('copy of a volume refused');
  });

  it('does not answer another process that cannot prove to be a control plane', async () => {
    const body = JSON.stringify({ tenantId: shop.id, node: 'n0', operation: { kind: 'containers' } });
    const proof = `${'0'.repeat(32)}.${'0'.repeat(64)}`;
    for (const headers of [{}, { 'berth-control-plane': proof }] as Record<string, string>[]) {
      const answer = await fetch(`${planes.first.url}/internal/v1/streams`, {
        method: 'POST',
        headers,
        body,
      });
      expect(answer.status).toBe(404);
    }
  });
});

describe('the death of the owner of a shard', () => {
  it(
    `moves its tenants within 10 s and doubles nothing: ${KILLS} kills`,
    async () => {
      const took: number[] = [];
      for (let kill = 0; kill < KILLS; kill += 1) {
        await settled();
        const owner = await ownerOfShop();
        const [other] = planes.others(owner);
        if (other === undefined) throw new Error('too few');
        // Work that is under way when it dies, and work that comes while nobody decides.
        const before = as(other)('POST', '/api/v1/deployments', deployment(`before-${kill}`, 3));
        await owner.end('SIGKILL');
        const begun = performance.now();
        expect((await before).status).toBe(201);
        const after = await as(other)('POST', '/api/v1/deployments', deployment(`after-${kill}`, 2));
        expect(after.status).toBe(201);
        await eventually(
          'its work is done by another one',
          async () => [await running(other, `before-${kill}`), await running(other, `after-${kill}`)],
          ([first, second]) => first === 3 && second === 2,
        );
        took.push(Math.round(performance.now() - begun));
        await owner.start();
      }
      process.stdout.write(`takeover of a killed owner, with its work done (ms): ${took.join(' ')}\n`);
      expect(Math.max(...took)).toBeLessThan(TAKEOVER_LIMIT_MS);
      for (let kill = 0; kill < KILLS; kill += 1) {
        expect(createdOf(`before-${kill}`)).toBe(3);
        expect(createdOf(`after-${kill}`)).toBe(2);
      }
      expectNothingTwice();
      expect(await nodeStatuses()).toEqual(['ready', 'ready', 'ready']);
    },
    60_000 + KILLS * KILL_MS,
  );

  it.each(Array.from({ length: STOPS }, (_, round) => round))(
    'doubles nothing when an owner that was stopped past its lease wakes up (round %i)',
    async (round) => {
      await settled();
      const owner = await ownerOfShop();
      const [other] = planes.others(owner);
      if (other === undefined) throw new Error('too few');
      owner.pause();
      const stopped = delay(STOPPED_MS);
      // It finds these when it wakes, before it finds that they are no longer its own.
      const names = Array.from({ length: 150 }, (_, index) => `late-${round}-${index}`);
      await Promise.all(
        names.map(async (name) => {
          expect((await as(other)('POST', '/api/v1/deployments', deployment(name, 1))).status).toBe(201);
        }),
      );
      await eventually(
        'another one has placed them all',
        () => Promise.resolve(names.reduce((sum, name) => sum + createdOf(name), 0)),
        (sum) => sum === names.length,
      );
      await stopped;
      owner.resume();
      await settled();
      // Whether it still tried to write depends on what it read first; that such a write fails is tested beside the guard.
      process.stdout.write(`late writes that the store refused: ${(await healthOf(owner))?.refused}\n`);
      expect(names.map(createdOf)).toEqual(names.map(() => 1));
      expectNothingTwice();
    },
  );
});

describe('a restart of all control planes, one after the other', () => {
  it('fails no request of clients that try again, and touches no container', async () => {
    await settled();
    const startsBefore = agents.map(({ started }) => JSON.stringify([...started]));
    let stop = false;
    const counts = { done: 0, retried: 0 };
    const failed: string[] = [];
    const client = async (lane: number): Promise<void> => {
      for (let index = 0; !stop; index += 1) {
        const name = `roll-${lane}-${index}`;
        const request = (plane: PlaneProcess): Promise<{ readonly status: number }> =>
          index % 2 === 0
            ? as(plane)('POST', '/api/v1/deployments', deployment(name, 0), { 'idempotency-key': name })
            : as(plane)('GET', `/api/v1/deployments/roll-${lane}-${index - 1}`);
        const outcome = await retried(request, lane + index, counts);
        if (outcome !== 200 && outcome !== 201) failed.push(`${name}: ${outcome}`);
        counts.done += 1;
      }
    };
    const clients = Array.from({ length: 4 }, (_, lane) => client(lane));
    for (const plane of planes.members) {
      await plane.end('SIGTERM');
      await plane.start();
      await settled();
    }
    stop = true;
    await Promise.all(clients);
    process.stdout.write(`rolling restart: ${counts.done} requests, ${counts.retried} tries repeated\n`);
    expect(failed).toEqual([]);
    expect(counts.done).toBeGreaterThan(100);
    await eventually('all nodes are ready', nodeStatuses, (all) => all.every((status) => status === 'ready'));
    expect(agents.map(({ started }) => JSON.stringify([...started]))).toEqual(startsBefore);
    expectNothingTwice();
  });
});

const TRIES = 20;

/** As a client behind a list of addresses does it: another one, a little later. */
async function retried(
  request: (plane: PlaneProcess) => Promise<{ readonly status: number }>,
  from: number,
  counts: { retried: number },
): Promise<number | string> {
  let last: number | string = 'not tried';
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const plane = planes.members[(from + attempt) % planes.members.length] ?? planes.first;
    try {
      last = (await request(plane)).status;
      if (last !== 503) return last;
    } catch (error) {
      last = String(error);
    }
    counts.retried += 1;
    await delay(50);
  }
  return last;
}
