import { DockerEngine } from '../src/agent/engine/docker-engine.ts';
import { startAgent } from '../test/support/agent-process.ts';
import { buildTestImage, startEngine } from '../test/support/engine.ts';
import { pushImage, startRegistry } from '../test/support/registry.ts';
import { startServerProcess } from './support/server-process.ts';
import { Swarm } from './support/swarm.ts';

/**
 * From wanting containers to running ones on one node: Berth, the engine alone and Docker Swarm, on the same engine in the
 * same run.   node bench/engine.ts [instances] [single rounds]
 */
const INSTANCES = Number(process.argv[2] ?? 100);
const ROUNDS = Number(process.argv[3] ?? 20);
const PARALLEL = 4;
const COMMAND = ['sleep', '3600'];

async function until(check: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 180_000;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

function percentile(times: readonly number[], share: number): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0;
}

const engine = await startEngine({ largeNetworks: true });
// The registry answers the image check; the engine has the image already, so that no pull is measured.
const registry = await startRegistry();
const { reference: IMAGE } = await pushImage(registry, 'bench/box:1', {});
await buildTestImage(engine, IMAGE);
const client = new DockerEngine(engine.socketPath);

function ownSpec(name: string) {
  return {
    name,
    image: IMAGE,
    command: COMMAND,
    env: [],
    labels: {},
    ownLabels: { bench: 'raw' },
    network: { name: 'bench', aliases: [name] },
    restart: { name: 'unless-stopped' as const },
    mounts: [],
    ports: [],
  };
}

async function rawOne(name: string): Promise<void> {
  await client.start(await client.createContainer(ownSpec(name)));
}

async function rawMany(count: number): Promise<number> {
  const start = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (next < count) {
        next += 1;
        await rawOne(`raw-${next}`);
      }
    }),
  );
  return performance.now() - start;
}

async function removeRaw(): Promise<void> {
  for (const { id } of await client.list({ labels: { bench: 'raw' }, all: true }))
    await client.remove(id, { force: true });
}

await client.ensureNetwork({ name: 'bench', driver: 'bridge', internal: false, labels: {} });
const server = await startServerProcess(['--node-name', 'control-plane']);
const join = (await server.call('POST', '/api/v1/join-tokens', {})).body as { token: string };
const agent = await startAgent({
  server: server.url,
  name: 'bench-1',
  socketPath: engine.socketPath,
  joinToken: join.token,
});

async function status(name: string): Promise<{ readonly running: number; readonly phase: string }> {
  return (
    (await server.call('GET', `/api/v1/deployments/${name}`)).body as {
      status: { running: number; phase: string };
    }
  ).status;
}

try {
  const raw = await rawMany(INSTANCES);
  await removeRaw();
  const start = performance.now();
  await server.call('POST', '/api/v1/deployments', {
    name: 'many',
    image: IMAGE,
    command: COMMAND,
    replicas: INSTANCES,
  });
  await until(async () => (await status('many')).running === INSTANCES, 'all instances');
  const ours = performance.now() - start;
  await server.call('DELETE', '/api/v1/deployments/many');
  await until(async () => (await client.list({ all: true })).length === 0, 'the removal');

  const single: number[] = [];
  const alone: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = `one-${round}`;
    const begun = performance.now();
    await rawOne(`raw-${name}`);
    alone.push(performance.now() - begun);
    const posted = performance.now();
    await server.call('POST', '/api/v1/deployments', { name, image: IMAGE, command: COMMAND });
    await until(async () => (await status(name)).running === 1, name);
    single.push(performance.now() - posted);
    await server.call('DELETE', `/api/v1/deployments/${name}`);
    await removeRaw();
  }
  await until(async () => (await client.list({ all: true })).length === 0, 'the removal');

  const swarm = new Swarm(engine.socketPath);
  await swarm.init();
  const created = performance.now();
  const service = await swarm.create('many', IMAGE, COMMAND, INSTANCES);
  await until(async () => (await swarm.running(service)) === INSTANCES, 'the swarm service');
  const theirs = performance.now() - created;
  await swarm.remove(service);
  const swarmSingle: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    const one = await swarm.create(`one-${round}`, IMAGE, COMMAND, 1);
    await until(async () => (await swarm.running(one)) === 1, 'one task');
    swarmSingle.push(performance.now() - begun);
    await swarm.remove(one);
  }
  await swarm.leave();

  const rate = (ms: number): string => `${((INSTANCES / ms) * 1000).toFixed(1)}/s`;
  process.stdout.write(
    `${INSTANCES} instances: engine alone (4 at once) ${rate(raw)}, Berth ${rate(ours)}, Swarm ${rate(theirs)}\n`,
  );
  process.stdout.write(
    `  Berth is ${(raw / ours).toFixed(2)} of the engine's own rate, Swarm ${(raw / theirs).toFixed(2)}; Berth is ${(theirs / ours).toFixed(2)} of Swarm\n`,
  );
  const added = percentile(single, 0.5) - percentile(alone, 0.5);
  process.stdout.write(
    `one deployment: engine alone p50 ${percentile(alone, 0.5).toFixed(0)} ms; POST to running p50 ${percentile(single, 0.5).toFixed(0)} ms, p99 ${percentile(single, 0.99).toFixed(0)} ms: adds ${added.toFixed(0)} ms (bar 100); Swarm p50 ${percentile(swarmSingle, 0.5).toFixed(0)} ms\n`,
  );
} finally {
  await agent.dispose();
  await server.stop();
  await engine.stop();
  await registry.stop();
}
