/**
 * Memory of an agent at rest: with nothing compiled from before, as after an installation, and after the load. What it adds to the
 * engine's own work: one instance from assignment to reported as running against create and start by hand, many at once against
 * the same by hand at the same concurrency. Needs root.
 *
 *     node bench/agent.ts [single instances] [at once]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { containerSpec } from '../src/agent/containers/container-spec.ts';
import type { DockerEngine } from '../src/agent/engine/docker-engine.ts';
import { EngineTransport } from '../src/agent/engine/transport.ts';
import { networkLabels, networkName } from '../src/agent/containers/own-labels.ts';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../test/support/harness/agent-bench.ts';
import { buildTestImage, startEngine } from '../test/support/harness/engine.ts';
import { INSTALL_ID, TENANT } from '../test/support/harness/fake-control-plane.ts';

const owner = { node: 'n1', installId: INSTALL_ID, tenantId: TENANT.id, tenantSlug: TENANT.slug };
const SINGLES = Number(process.argv[2] ?? 20);
const MANY = Number(process.argv[3] ?? 50);
const ROUNDS = 2;
const AT_REST_MS = 5000;

async function byHand(engine: DockerEngine, n: number): Promise<string> {
  const assigned = instance(`hand_${n}`);
  const { container } = assigned;
  if (container === undefined) throw new Error('no container');
  const source = {
    name: `hand-${n}`,
    assigned,
    container,
    secrets: {},
    network: { name: networkName(owner) },
    heldFolder: '',
    volume: () => ({ kind: 'waits' as const, reason: '', message: '' }),
  };
  // Of another node, so that the agent does not look at it.
  const spec = containerSpec({ ...source, owner: { ...owner, node: 'hand' } });
  const id = await engine.createContainer(spec);
  await engine.start(id);
  return id;
}

async function manyByHand(engine: DockerEngine, atOnce: number): Promise<number> {
  const begun = performance.now();
  let next = 0;
  const ids: string[] = [];
  const work = async (): Promise<void> => {
    while (next < MANY) {
      next += 1;
      ids.push(await byHand(engine, 1000 + next));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const ms = performance.now() - begun;
  await removeAll(engine, ids);
  return ms;
}

async function removeAll(engine: DockerEngine, ids: readonly string[]): Promise<void> {
  for (const id of ids) await engine.remove(id, { force: true });
}

async function manyByAgent({ plane }: AgentBench, round: number): Promise<number> {
  const ids = Array.from({ length: MANY }, (_, n) => `ins_${round}_${String(n).padStart(4, '0')}`);
  const begun = performance.now();
  plane.assign(ids.map((id) => instance(id)));
  await plane.until(
    'all running',
    () => ids.every((id) => plane.observations.get(id)?.phase === 'running'),
    300_000,
  );
  const ms = performance.now() - begun;
  plane.assign(ids.map((id) => stopped(id)));
  await plane.until(
    'all gone',
    () => ids.every((id) => plane.observations.get(id)?.phase === 'removed'),
    300_000,
  );
  return ms;
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

await using daemon = await startEngine();
await buildTestImage(daemon, TEST_IMAGE);
// The test engines' own address pools are too small for a hundred containers.
await new EngineTransport(daemon.socketPath).call({
  method: 'POST',
  path: '/v1.41/networks/create',
  json: {
    Name: networkName(owner),
    Driver: 'bridge',
    Labels: networkLabels(owner),
    IPAM: { Config: [{ Subnet: '172.31.240.0/22' }] },
  },
});
// As after an installation: compiled code of earlier starts would save it memory.
const compiled = mkdtempSync(join(tmpdir(), 'berth-bench-compiled-'));
// Its tunnel outlives an agent, and ends with the namespace.
await using bench = await AgentBench.startInside(daemon, [], ['env', `NODE_COMPILE_CACHE=${compiled}`]);
const { engine, plane, agent } = bench;
plane.heartbeatMs = 5000;
plane.silenceMs = 15_000;
plane.assign([instance('warm')]);
await plane.untilPhase('warm', 'running');
const { cpus } = await engine.info();
await pause(AT_REST_MS);
console.log(`agent at rest: ${mib(agent.rssBytes)} MiB, nothing compiled from before`);

const hand: number[] = [];
const led: number[] = [];
for (let n = 0; n < SINGLES; n += 1) {
  let begun = performance.now();
  const id = await byHand(engine, n);
  hand.push(performance.now() - begun);
  begun = performance.now();
  plane.assign([instance('warm'), instance(`one_${n}`)]);
  await plane.untilPhase(`one_${n}`, 'running');
  led.push(performance.now() - begun);
  plane.assign([instance('warm'), stopped(`one_${n}`)]);
  await plane.untilPhase(`one_${n}`, 'removed');
  await removeAll(engine, [id]);
}
console.log(`one instance, p50: engine ${median(hand).toFixed(0)} ms, agent ${median(led).toFixed(0)} ms`);

for (let round = 0; round < ROUNDS; round += 1) {
  const own = await manyByHand(engine, 2 * cpus);
  const agents = await manyByAgent(bench, round);
  console.log(
    `${MANY} instances: engine ${own.toFixed(0)} ms, agent ${agents.toFixed(0)} ms, ratio of rates ${(own / agents).toFixed(2)}`,
  );
}
await pause(AT_REST_MS);
console.log(`agent at rest: ${mib(agent.rssBytes)} MiB, after the load`);
rmSync(compiled, { recursive: true, force: true });
