import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AssignedInstance } from '../../src/core/protocol/agent-protocol.ts';
import { AgentBench, instance, stopped } from '../support/harness/agent-bench.ts';
import { startEngine, type TestEngine } from '../support/harness/engine.ts';
import { type CallFate, startEngineProxy } from '../support/harness/engine-proxy.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { pushImage, type Registry, startRegistry } from '../support/harness/registry.ts';

/**
 * F-03 and F-05 with real processes: the agent dies by kill -9 at every call that changes something on a real engine, on a way from an
 * empty engine over a create and an update back to an empty one; also while it asks for secrets, and while it waits for health.
 */

/** Each point and side is met once in a round. */
const ROUNDS = inTier({ usual: 1, long: 5 });
/** A death before a call leaves the engine as it was; `src/agent` and the simulation have both sides in every run. */
const SIDES: readonly CallFate[] = LONG_TIER ? ['before', 'after'] : ['after'];
/** Of the phases without a call. */
const WAITS = inTier({ usual: 1, long: 20 });
const TIMEOUT_MS = inTier({ usual: 300_000, long: 3_600_000 });
const STAGE_MS = 90_000;

const SLEEPS = ['sh', '-c', 'trap "exit 0" TERM; sleep 3600 & wait'];
const CHECK = { command: ['true'], intervalMs: 1000, timeoutMs: 5000, retries: 3 };

let daemon: TestEngine;
let registry: Registry;
let images: readonly [string, string];

beforeAll(async () => {
  daemon = await startEngine();
  registry = await startRegistry({ address: daemon.namespace?.hostAddress ?? '' });
  const push = async (tag: string): Promise<string> =>
    (await pushImage(registry, `shop/web:${tag}`, { cmd: SLEEPS, env: [`TAG=${tag}`] })).reference;
  images = [await push('1'), await push('2')];
});

afterAll(async () => {
  await registry?.stop();
  await daemon?.stop();
});

interface Stage {
  readonly name: string;
  readonly assigned: readonly AssignedInstance[];
  /** What runs when it is over, by instance, with the hash of its spec. */
  readonly runs: Readonly<Record<string, string>>;
}

function stages(): readonly Stage[] {
  const [first, second] = images;
  const keep = instance('ins_keep', { image: first }, { deployment: 'keep' });
  const web = instance('ins_web', { image: first, needsSecrets: true, healthCheck: CHECK });
  const updated = instance(
    'ins_web',
    { image: second, needsSecrets: true, healthCheck: CHECK },
    { specHash: 'hash2' },
  );
  return [
    { name: 'first', assigned: [keep], runs: { ins_keep: 'hash1' } },
    { name: 'create', assigned: [keep, web], runs: { ins_keep: 'hash1', ins_web: 'hash1' } },
    { name: 'update', assigned: [keep, updated], runs: { ins_keep: 'hash1', ins_web: 'hash2' } },
    { name: 'delete', assigned: [keep, stopped('ins_web')], runs: { ins_keep: 'hash1' } },
    { name: 'last', assigned: [stopped('ins_keep')], runs: {} },
  ];
}

/** Which points there are, and which of them were met by a death. */
class Points {
  readonly met = new Map<string, Set<CallFate>>();
  readonly #sides: readonly CallFate[];
  stage = '';
  kills = 0;

  constructor(sides: readonly CallFate[]) {
    this.#sides = sides;
  }

  fateOf(call: string): CallFate {
    const point = `${this.stage}: ${call}`;
    const had = this.met.get(point) ?? new Set();
    this.met.set(point, had);
    const next = this.#sides.find((side) => !had.has(side));
    if (next === undefined) return 'pass';
    had.add(next);
    this.kills += 1;
    return next;
  }
}

/** The whole way once. */
async function pass(points: Points): Promise<void> {
  let bench: AgentBench | undefined;
  let restarting: Promise<void> = Promise.resolve();
  const restart = async (): Promise<void> => {
    await bench?.agent.end('SIGKILL');
    bench?.agent.launch();
  };
  await using proxy = await startEngineProxy({
    socketPath: daemon.socketPath,
    fateOf: (call) => points.fateOf(call),
    onCrash: () => {
      restarting = restarting.then(restart);
    },
  });
  await using made = await AgentBench.start(daemon, [], proxy.socketPath);
  bench = made;
  const { plane, engine } = made;
  plane.secrets = { ok: true, environment: { PASSWORD: 'x' } };
  let kept: number | undefined;
  for (const { name, assigned, runs } of stages()) {
    points.stage = name;
    plane.assign(assigned);
    const wanted = Object.entries(runs).sort();
    const seen = async (): Promise<unknown> => {
      const told = [...plane.observations.values()]
        .filter(({ phase, health }) => phase === 'running' && health !== 'starting')
        .map(({ id, specHash }) => [id, specHash])
        .sort();
      const there = (await engine.list({ all: true })).map(({ labels, status }) => [
        labels['berth.io/instance'],
        status,
      ]);
      return { told, there: there.sort() };
    };
    await expect
      .poll(seen, { timeout: STAGE_MS, interval: 50, message: name })
      .toEqual({ told: wanted, there: wanted.map(([id]) => [id, 'running']) })
      .catch((error: unknown) => {
        console.log(`${name}, after ${points.kills} kills:\n${made.agent.log().slice(-4000)}`);
        throw error;
      });
    await restarting;
    const pids = await made.pids();
    kept ??= pids.get('ins_keep');
    expect(pids.get('ins_keep'), `${name}: the process of the untouched container`).toBe(
      'ins_keep' in runs ? kept : undefined,
    );
  }
  for (const { id } of await engine.listNetworks({ 'berth.io/node': 'n1' })) await engine.removeNetwork(id);
  for (const image of images) await engine.removeImage(image);
}

describe('kill -9 of the agent', () => {
  it('at every call that changes something', { timeout: TIMEOUT_MS }, async () => {
    const free = new Points([]);
    await pass(free);
    const known = [...free.met.keys()];
    let kills = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const points = new Points(SIDES);
      await pass(points);
      kills += points.kills;
      expect([...points.met.keys()]).toEqual(expect.arrayContaining(known));
    }
    console.log(
      `${known.length} calls, ${kills} kills in ${ROUNDS} rounds, all converged: 0 duplicates, 0 containers left, ` +
        `the untouched container kept its process\n${known.join('\n')}`,
    );
    expect(kills).toBeGreaterThanOrEqual(known.length * ROUNDS * SIDES.length);
  });

  it('while it asks for secrets, and while it waits for health', { timeout: TIMEOUT_MS }, async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent, engine } = bench;
    const check = { ...CHECK, intervalMs: 2000 };
    const kill = async (): Promise<void> => {
      await agent.end('SIGKILL');
      plane.observations.clear();
      agent.launch();
    };
    for (let round = 0; round < WAITS; round += 1) {
      const [image] = images;
      const asked = plane.resolves.length;
      plane.secrets = undefined;
      plane.assign([
        instance('ins_web', { image, needsSecrets: true, healthCheck: check }, { attempt: round }),
      ]);
      await plane.until('the question for secrets', () => plane.resolves.length > asked);
      await kill();
      expect(await engine.list({ all: true, labels: { 'berth.io/attempt': String(round) } })).toEqual([]);
      plane.secrets = { ok: true, environment: { PASSWORD: 'x' } };
      await plane.until('a start', () => plane.observations.get('ins_web')?.health === 'starting');
      const before = await bench.pids();
      await kill();
      await plane.until('health', () => plane.observations.get('ins_web')?.health === 'healthy');
      expect(await bench.pids()).toEqual(before);
      expect(before.size).toBe(1);
    }
    console.log(`${2 * WAITS} kills: no container without its secrets, none twice, its process is the same`);
  });
});
