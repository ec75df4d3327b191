import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveAgent } from '../support/agents/live-agent.ts';
import { type AgentIdentity, agentKey, ScriptedAgent } from '../support/agents/scripted-agent.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { joinToken, nodeFacts } from '../support/harness/node-flow.ts';
import type { PlaneProcess, Tenant } from '../support/harness/plane-process.ts';
import { healthOf, type Planes, startPlanes } from '../support/harness/planes.ts';
import { type PushedImageRegistry, startPushedImage } from '../support/harness/pushed-image.ts';

/** Several leases: others decide, and agents are with others, when it wakes. */
const SUSPENDED_MS = 25_000;
/** Longer than a lease, and shorter than an agent waits for a word. */
const BRIEFLY_MS = 4_500;
const ROUNDS = 2;
const MOST_WRITTEN = 450;
const WRITERS = 4;
const SHARDS = 64;
/** In the proportions of the defaults. */
const TIMERS = {
  BERTH_TIMERS_CONTROL_PLANE_LEASE: '3s',
  BERTH_TIMERS_FAILED_AFTER: '9s',
  BERTH_TIMERS_REPLACE_AFTER: '36s',
  BERTH_TIMERS_START_GRACE: '18s',
};

/** In the long tier: it is time that passes. */
describe.runIf(LONG_TIER)('one of three control planes that is suspended past its lease', () => {
  let etcd: Etcd;
  let registry: PushedImageRegistry;
  let planes: Planes;
  let shop: Tenant & { readonly token: string };
  const agents: LiveAgent[] = [];
  /** How often each instance was put into the store for the first time. */
  const created = new Map<string, number>();

  beforeAll(async () => {
    [etcd, registry] = await Promise.all([startEtcd(), startPushedImage()]);
    planes = await startPlanes(etcd, 3, TIMERS);
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
    for (let index = 0; index < 3; index += 1)
      agents.push(new LiveAgent(await enrolled(`n${index}`), planes.addresses, index));
    await eventually(
      'all nodes are ready',
      () => statuses(planes.first),
      (all) => all.length === 3 && all.every((one) => one.endsWith(' ready')),
    );
    await settled();
  }, 120_000);

  afterAll(async () => {
    for (const plane of planes?.members ?? []) plane.resume();
    await Promise.all(agents.map((agent) => agent.stop()));
    await planes?.stop();
    await registry?.stop();
    await etcd?.stop();
  });

  const at = (plane: PlaneProcess): Tenant['call'] => plane.as(shop.token);
  const deployment = (name: string, replicas: number) => ({ name, image: registry.image, replicas });

  async function enrolled(node: string): Promise<Omit<AgentIdentity, 'url'>> {
    const key = agentKey();
    const call = planes.first.as(await joinToken(shop.call));
    const { body } = await call('POST', '/api/v1/nodes', nodeFacts(node, key));
    return { node, key, token: body.nodeToken as string };
  }

  async function statuses(plane: PlaneProcess): Promise<readonly string[]> {
    const { body } = await at(plane)('GET', '/api/v1/nodes');
    return (body as { name: string; status: string }[]).map(({ name, status }) => `${name} ${status}`);
  }

  /** It serves again as well as the others. */
  async function settled(): Promise<void> {
    await eventually(
      'every shard is held, and every control plane has some',
      async () => (await Promise.all(planes.members.map(healthOf))).map((one) => one?.held ?? 0),
      (all) => all.every((one) => one > 0) && all.reduce((sum, one) => sum + one, 0) === SHARDS,
      60_000,
    );
  }

  async function ownerOfShop(): Promise<{
    readonly owner: PlaneProcess;
    readonly second: PlaneProcess;
    readonly third: PlaneProcess;
  }> {
    const owner = await eventually(
      'the tenant has an owner',
      () => planes.owner(shop.id),
      (found) => found !== undefined,
    );
    const [second, third] = owner === undefined ? [] : planes.others(owner);
    if (owner === undefined || second === undefined || third === undefined) throw new Error('too few');
    return { owner, second, third };
  }

  async function nodesWith(kind: string): Promise<readonly string[]> {
    const { body } = await at(planes.first)('GET', `/api/v1/events?kind=${kind}&limit=1000`);
    return (body as { subject: { name: string } }[]).map(({ subject }) => subject.name);
  }

  it.each(Array.from({ length: ROUNDS }, (_, round) => round))(
    'decides nothing, fails no node, says nothing old as new, and serves again (round %i)',
    async (round) => {
      const { owner, second, third } = await ownerOfShop();
      const { pid } = owner;
      const names: string[] = [];
      const refused: string[] = [];
      let isOver = false;
      const write = async (lane: number): Promise<void> => {
        // All rounds together stay within one page of the list.
        while (!isOver && names.length < MOST_WRITTEN) {
          const name = `w-${round}-${names.length}`;
          names.push(name);
          const asked = at(lane % 2 === 0 ? second : third);
          const { status, body } = await asked('POST', '/api/v1/deployments', deployment(name, 1));
          if (status !== 201) refused.push(`${name}: ${status} ${JSON.stringify(body)}`);
          await pause(400);
        }
      };
      const writing = Promise.all(Array.from({ length: WRITERS }, (_, lane) => write(lane)));
      await eventually(
        'writes',
        () => names.length,
        (count) => count > 20,
      );
      owner.pause();
      await pause(SUSPENDED_MS);
      const marker = `marker-${round}`;
      expect((await at(second)('POST', '/api/v1/deployments', deployment(marker, 0))).status).toBe(201);
      // Asked while it is stopped: the first that it answers.
      const reads = Promise.all([0, 1, 2, 3].map(() => at(owner)('GET', `/api/v1/deployments/${marker}`)));
      await pause(200);
      owner.resume();
      const old = (await reads).filter(
        ({ status, headers }) => status !== 200 && headers.get('berth-stale') !== 'true',
      );
      expect(old.map(({ status, body }) => [status, body])).toEqual([]);
      await settled();
      isOver = true;
      await writing;
      expect(refused).toEqual([]);
      expect(owner.pid).toBe(pid);
      const again = await at(owner)('POST', '/api/v1/deployments', deployment(`again-${round}`, 1));
      expect([again.status, again.body.code]).toEqual([201, undefined]);
      names.push(`again-${round}`);
      await eventually(
        'all of them run, as it says',
        async () => {
          const { body } = await at(owner)('GET', '/api/v1/deployments?limit=1000');
          const all = body as { name: string; status?: { phase?: string } }[];
          const run = new Set(
            all.filter(({ status }) => status?.phase === 'Running').map(({ name }) => name),
          );
          return names.filter((name) => !run.has(name));
        },
        (left) => left.length === 0,
        60_000,
      );
      const makes = new Map<string, number>(names.map((name) => [name, 0]));
      for (const key of created.keys()) {
        const name = key.split('/instances/')[1]?.split('/')[0] ?? '';
        if (makes.has(name)) makes.set(name, (makes.get(name) ?? 0) + 1);
      }
      expect([...makes].filter(([, times]) => times !== 1)).toEqual([]);
      expect([...created].filter(([, times]) => times > 1)).toEqual([]);
      const starts = new Map<string, number>();
      for (const { started } of agents)
        for (const [id, times] of started) starts.set(id, (starts.get(id) ?? 0) + times);
      expect([...starts].filter(([, times]) => times > 1)).toEqual([]);
      expect([await nodesWith('node.failed'), await nodesWith('node.lost')]).toEqual([[], []]);
      process.stdout.write(`${names.length} deployments written around a pause of ${SUSPENDED_MS} ms\n`);
    },
    240_000,
  );

  it('takes no agent for alive that went silent meanwhile, and keeps those that answer', async () => {
    const { second: sleeper, third: other } = await ownerOfShop();
    const connected = async (node: string): Promise<ScriptedAgent> => {
      const agent = new ScriptedAgent({ ...(await enrolled(node)), url: sleeper.url });
      await agent.welcome();
      return agent;
    };
    const [gone, kept] = [await connected('gone'), await connected('kept')];
    let ends = 0;
    void kept.closed.then(() => (ends += 1));
    const seen = (node: string) => async () =>
      (await statuses(other)).find((one) => one.startsWith(`${node} `));
    for (const node of ['gone', 'kept'])
      await eventually(`${node} is ready`, seen(node), (status) => status === `${node} ready`);
    sleeper.pause();
    await pause(BRIEFLY_MS);
    sleeper.resume();
    await settled();
    expect([ends, await nodesWith('node.failed')]).toEqual([0, []]);
    sleeper.pause();
    // As a machine without power: nothing is said, and no connection ends.
    gone.socket.pause();
    await eventually('it is failed', seen('gone'), (status) => status === 'gone failed', 60_000);
    sleeper.resume();
    await settled();
    // As long as it would be believed that a connection is alive.
    await pause(12_000);
    const told = (await nodesWith('node.ready')).filter((name) => name === 'gone');
    expect([told, await seen('gone')()]).toEqual([['gone'], 'gone failed']);
    kept.socket.terminate();
    gone.socket.terminate();
  }, 180_000);
});
