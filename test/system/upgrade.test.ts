import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STATUS } from '../../src/server/recovery/failure.ts';
import { globalKey } from '../../src/server/store/keys.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type AgentProcess, startAgent } from '../support/harness/agent-process.ts';
import { BOX, ClusterNode } from '../support/harness/cluster.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { type Installation, installPackage, sourcesOf } from '../support/harness/installation.ts';
import { PlaneProcess, type Tenant } from '../support/harness/plane-process.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';

/**
 * Two packed releases: the first one, from its commit, and this checkout as the one after it, with a planted format of the store. Control planes and agents go from
 * one to the other under load, in any order, and no container notices. Minutes: in the long tier alone.
 */

/** What 0.1.0 is made from. */
const BASE = '678a48566731db96deadf6e20440124102367c14';
const NEXT = '0.2.0';
const TIMEOUT_MS = 600_000;
const FORMAT = globalKey('store-format', 'format');

/** What a release with another format would have in its list: `planted` is there from format 3 on. */
const MIGRATION = `{
  about: 'planted',
  kinds: ['tenant-slugs', 'instances'],
  up: (_kind, members) => ({ ...members, planted: true }),
  down: (_kind, { planted: _planted, ...members }) => members,
}`;

const folder = mkdtempSync(join(tmpdir(), 'berth-upgrade-'));
let older: Installation;
let newer: Installation;
const engines: TestEngine[] = [];

function changeFile(path: string, change: (text: string) => string): void {
  const text = readFileSync(path, 'utf8');
  const changed = change(text);
  if (changed === text) throw new Error(`${path}: there is nothing to change`);
  writeFileSync(path, changed);
}

function asNext(copy: string): void {
  changeFile(join(copy, 'package.json'), (text) =>
    text.replace(/"version": "[^"]+"/, `"version": "${NEXT}"`),
  );
  changeFile(join(copy, 'src/server/store/migrations.ts'), (text) =>
    text.replace(/\n\];\n$/, `\n${MIGRATION},\n];\n`),
  );
}

beforeAll(async () => {
  if (!LONG_TIER) return;
  const from = sourcesOf(BASE, join(folder, 'base'));
  if (from === undefined)
    throw new Error(`this clone has no commit ${BASE}: fetch the whole history (git fetch --unshallow)`);
  older = installPackage(join(folder, 'older'), { from });
  newer = installPackage(join(folder, 'newer'), { plant: asNext });
}, TIMEOUT_MS);

afterAll(async () => {
  for (const engine of engines) await engine.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Requests under way at a time. */
const TOGETHER = 8;
const FIXED = ['web', 'api', 'queue'];
type Call = Tenant['call'];

/** Writes and reads on and on, at any control plane that runs; what was acknowledged has to be there at the end. */
class Load {
  readonly acknowledged = new Set<string>();
  refused = 0;
  #ended = false;
  readonly #done: Promise<unknown>;

  constructor(calls: readonly Call[]) {
    const loops = Array.from({ length: TOGETHER }, (_, index) => this.#run(calls, `load-${index}`));
    this.#done = Promise.all(loops);
  }

  async #run(calls: readonly Call[], prefix: string): Promise<void> {
    for (let round = 0; !this.#ended; round += 1) {
      const call = calls[round % calls.length];
      const name = `${prefix}-${round}`;
      const spec = { kind: 'Deployment', name, image: BOX, command: ['sleep', '3600'], replicas: 0 };
      try {
        const made = await call?.('POST', '/api/v1/deployments', spec);
        if (made?.status === 201) this.acknowledged.add(name);
        else if (made?.status !== 503) this.refused += 1;
        await call?.('GET', '/api/v1/instances');
      } catch {
        // That one does not run now.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }

  async end(call: Call): Promise<void> {
    this.#ended = true;
    await this.#done;
    const missing: string[] = [];
    for (const name of this.acknowledged)
      if ((await call('GET', `/api/v1/deployments/${name}`)).status !== 200) missing.push(name);
    expect(missing).toEqual([]);
    expect(this.refused).toBe(0);
    process.stdout.write(`under load: ${this.acknowledged.size} writes acknowledged, all there\n`);
    for (const name of this.acknowledged) await call('DELETE', `/api/v1/deployments/${name}`);
  }
}

/** What a container would lose by being touched. */
async function untouched(...nodes: readonly ClusterNode[]): Promise<unknown> {
  const seen = await Promise.all(
    nodes.map(async (node) => {
      const all = await Promise.all(FIXED.map((name) => node.containers(name)));
      return await Promise.all(all.flat().map(({ id }) => node.inspect(id)));
    }),
  );
  return seen
    .flat()
    .map(({ Id, RestartCount, State: { Pid, StartedAt } }) => ({ Id, RestartCount, Pid, StartedAt }))
    .sort((one, other) => String(one.Id).localeCompare(String(other.Id)));
}

async function deployed(call: Call, name: string, replicas: number): Promise<void> {
  const spec = { kind: 'Deployment', name, image: BOX, command: ['sleep', '3600'], replicas };
  expect((await call('POST', '/api/v1/deployments', spec)).status).toBe(201);
  await running(call, name);
}

async function running(call: Call, name: string): Promise<void> {
  await eventually(
    `${name} runs`,
    async () => (await call('GET', `/api/v1/deployments/${name}`)).body.status?.phase,
    (phase) => phase === 'Running',
    60_000,
  );
}

async function agentVersion(call: Call, node: string, version: string): Promise<void> {
  await eventually(
    `the agent of ${node} is ${version}`,
    async () => (await call('GET', `/api/v1/nodes/${node}`)).body,
    ({ agentVersion: found, status }) => found === version && status === 'ready',
    60_000,
  );
}

/** A machine with an engine of its own, and an agent of the older release. */
async function nodeOf(planes: readonly PlaneProcess[], name: string, tenant: Tenant): Promise<ClusterNode> {
  const engine = await startEngine();
  engines.push(engine);
  await buildTestImage(engine, BOX, {});
  const { body } = await tenant.call('POST', '/api/v1/join-tokens', {});
  const agent = await startAgent({
    berth: older.berth,
    server: planes.map(({ port }) => `http://${engine.namespace?.hostAddress}:${port}`).join(','),
    name,
    socketPath: engine.socketPath,
    joinToken: body.token as string,
    environment: { BERTH_AGENT_MESH: 'off' },
    ...(engine.namespace && { namespace: engine.namespace.name }),
  });
  return new ClusterNode(name, engine, agent, planes[0]?.port ?? 0);
}

const restarted = async (program: PlaneProcess | AgentProcess, berth: string): Promise<void> => {
  await program.end('SIGTERM');
  program.berth = berth;
  await program.start();
};

describe.runIf(LONG_TIER)('an upgrade of one control plane', () => {
  let plane: PlaneProcess;
  let agent: AgentProcess;
  let node: ClusterNode;
  let shop: Tenant & { readonly token: string };

  beforeAll(async () => {
    plane = new PlaneProcess();
    plane.berth = older.berth;
    await plane.start();
    shop = await plane.tenant('shop');
    node = await nodeOf([plane], 'n1', shop);
    ({ agent } = node);
    for (const name of FIXED) await deployed(shop.call, name, 2);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await agent?.dispose();
    await plane?.dispose();
  });

  it('a newer agent under the older control plane, then the newer one under both: no container is touched', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const before = await untouched(node);
    expect(before).toHaveLength(6);
    const load = new Load([shop.call]);
    // Agent first, which is the reverse of the usual order; and back, so that the old one meets the new control plane.
    for (const [step, change, version] of [
      ['newer agent, older control plane', () => restarted(agent, newer.berth), NEXT],
      ['both older', () => restarted(agent, older.berth), '0.1.0'],
      ['older agent, newer control plane', () => restarted(plane, newer.berth), '0.1.0'],
      ['both newer', () => restarted(agent, newer.berth), NEXT],
    ] as const) {
      await change();
      await agentVersion(shop.call, 'n1', version);
      await deployed(shop.call, `at-${version.replaceAll('.', '-')}-${step.length}`, 1);
      expect({ step, containers: await untouched(node) }).toEqual({ step, containers: before });
    }
    await load.end(shop.call);
    await eventually(
      'the store is rewritten',
      () => Promise.resolve(plane.log()),
      (log) => log.includes('were rewritten'),
    );
    expect(plane.log()).toContain('the store has a new format');
  });

  it('the older release refuses the store of the newer one with what to do, and the newer one goes on', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const before = await untouched(node);
    await plane.end('SIGTERM');
    plane.berth = older.berth;
    await expect(plane.start()).rejects.toThrow(
      new RegExp(
        `ended: ${STATUS.newerFormat}[\\s\\S]*store_format_newer: the store file .*berth\\.db has layout 2, and this release reads layout 1`,
      ),
    );
    plane.berth = newer.berth;
    await plane.start();
    for (const name of FIXED) await running(shop.call, name);
    expect(await untouched(node)).toEqual(before);
  });
});

describe.runIf(LONG_TIER)('a rolling upgrade of three control planes', () => {
  let etcd: Etcd;
  let planes: Planes;
  const nodes: ClusterNode[] = [];
  let shop: Tenant & { readonly token: string };

  beforeAll(async () => {
    etcd = await startEtcd();
    planes = await startPlanes(
      etcd,
      3,
      { BERTH_TIMERS_FAILED_AFTER: '9s', BERTH_TIMERS_REPLACE_AFTER: '60s' },
      undefined,
      older.berth,
    );
    shop = await planes.first.tenant('shop');
    for (const name of ['r1', 'r2']) nodes.push(await nodeOf(planes.members, name, shop));
    for (const name of FIXED) await deployed(shop.call, name, 2);
  }, TIMEOUT_MS);
  afterAll(async () => {
    for (const { agent } of nodes) await agent.dispose();
    await planes?.stop();
    await etcd?.stop();
  });

  const format = async (): Promise<unknown> =>
    JSON.parse((await planes.kv.get(FORMAT))?.value ?? '{}').format;

  it('and of agents touches no container; the format is raised with the last of them', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const before = await untouched(...nodes);
    expect(before).toHaveLength(6);
    const calls = planes.members.map((member) => member.as(shop.token));
    const load = new Load(calls);
    const [first, second, last] = planes.members;
    if (first === undefined || second === undefined || last === undefined) throw new Error('too few');
    for (const plane of [first, second]) {
      await restarted(plane, newer.berth);
      expect(await format()).toBe(1);
      await deployed(plane.as(shop.token), `mixed-${plane.port}`, 1);
      expect(await untouched(...nodes)).toEqual(before);
    }
    // Back, while one of the older ones is left.
    await restarted(second, older.berth);
    await running(second.as(shop.token), `mixed-${second.port}`);
    for (const plane of [second, last]) await restarted(plane, newer.berth);
    await eventually('the format is raised', format, (found) => found === 3, 30_000);
    for (const { agent, name } of nodes) {
      await restarted(agent, newer.berth);
      await agentVersion(first.as(shop.token), name, NEXT);
    }
    await deployed(last.as(shop.token), 'after', 2);
    expect(await untouched(...nodes)).toEqual(before);
    await load.end(first.as(shop.token));

    // Too late for the older release.
    await last.end('SIGTERM');
    last.berth = older.berth;
    await expect(last.start()).rejects.toThrow(
      new RegExp(`ended: ${STATUS.newerFormat}[\\s\\S]*store_format_newer`),
    );
    expect(await untouched(...nodes)).toEqual(before);
  });
});
