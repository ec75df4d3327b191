import { COMMAND, startOneNode, until } from './support/one-node.ts';
import { cpuSeconds } from './support/process-cost.ts';
import { followRunning } from './support/running-events.ts';
import { Swarm } from './support/swarm.ts';
import { median } from './support/turns.ts';

/**
 * From wanting many containers to all of them running on one node: Berth, the engine alone and Docker Swarm, on the same
 * engine in turns; ratios are the median of the rounds.   node bench/engine.ts [instances]
 */
const INSTANCES = Number(process.argv[2] ?? 100);
const PARALLEL = 4;
const ROUNDS = 3;
/** Looking often would take part of the two cores that the engine needs. */
const LOOK_MS = 100;

const node = await startOneNode();
const events = await followRunning(node.server);

async function raw(): Promise<number> {
  const start = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      while (next < INSTANCES) {
        next += 1;
        await node.runRaw(`raw-${next}`);
      }
    }),
  );
  const took = performance.now() - start;
  await node.removeRaw();
  return took;
}

interface Berth {
  readonly took: number;
  /** CPU time of an instance, which a busy machine does not change. */
  readonly serverMs: number;
  readonly agentMs: number;
}

async function berth(name: string): Promise<Berth> {
  const before = { server: cpuSeconds(node.server.pid), agent: cpuSeconds(node.agentPid) };
  const start = performance.now();
  await node.server.call('POST', '/api/v1/deployments', {
    name,
    image: node.image,
    command: COMMAND,
    replicas: INSTANCES,
  });
  await events.of(name);
  const took = performance.now() - start;
  const each = (from: number, to: number): number => ((to - from) * 1000) / INSTANCES;
  const serverMs = each(before.server, cpuSeconds(node.server.pid));
  const agentMs = each(before.agent, cpuSeconds(node.agentPid));
  if ((await node.running(name)) !== INSTANCES) throw new Error('not all instances run');
  await node.server.call('DELETE', `/api/v1/deployments/${name}`);
  await node.emptied();
  return { took, serverMs, agentMs };
}

async function swarm(network?: string): Promise<number> {
  const peer = new Swarm(node.socketPath);
  await peer.init();
  if (network !== undefined) await peer.network(network);
  const start = performance.now();
  const service = await peer.create({
    name: 'many',
    image: node.image,
    command: COMMAND,
    replicas: INSTANCES,
    ...(network === undefined ? {} : { network }),
  });
  await until(async () => (await peer.running(service)) === INSTANCES, 'the swarm service', LOOK_MS);
  const took = performance.now() - start;
  await peer.remove(service);
  await node.emptied();
  await peer.leave();
  return took;
}

try {
  // The engine alone before and after each round, since a machine is not the same from one minute to the next.
  const alone = [await raw()];
  const ours: Berth[] = [];
  const theirs: number[] = [];
  const bare = await swarm();
  for (let round = 0; round < ROUNDS; round += 1) {
    ours.push(await berth(`many-${round}`));
    theirs.push(await swarm('peers'));
    alone.push(await raw());
  }
  const rates = (times: readonly number[]): string =>
    `${times.map((ms) => ((INSTANCES / ms) * 1000).toFixed(1)).join(', ')}/s`;
  const middle = (figure: (own: Berth, aloneMs: number, swarmMs: number) => number): number =>
    median(
      ours.map((own, round) =>
        figure(own, ((alone[round] ?? 0) + (alone[round + 1] ?? 0)) / 2, theirs[round] ?? 0),
      ),
    );
  process.stdout.write(
    `${INSTANCES} instances: engine alone (${PARALLEL} at once) ${rates(alone)}, Berth ${rates(ours.map(({ took }) => took))}, Swarm ${rates(theirs)} (on the default bridge, without names, ${rates([bare])})\n` +
      `  Berth is ${middle((own, aloneMs) => aloneMs / own.took).toFixed(2)} of the engine's own rate (bar 0.95), Swarm ${middle((_own, aloneMs, swarmMs) => aloneMs / swarmMs).toFixed(2)}; Berth is ${middle((own, _alone, swarmMs) => swarmMs / own.took).toFixed(2)} of Swarm (bar 1)\n` +
      `  CPU for an instance: control plane ${middle((own) => own.serverMs).toFixed(1)} ms, agent ${middle((own) => own.agentMs).toFixed(1)} ms\n`,
  );
} finally {
  events.close();
  await node.stop();
}
