import { COMMAND, percentile, startOneNode, until } from './support/one-node.ts';
import { followRunning } from './support/running-events.ts';
import { Swarm } from './support/swarm.ts';

/**
 * One deployment from POST to running, over the engine's own create and start; Docker Swarm on the same engine in the same rounds,
 * on a network with names as Berth's containers have one. That a deployment runs is taken from the events; of a task of Swarm there are
 * none, and it is asked for.   node bench/latency.ts [rounds]
 */
const ROUNDS = Number(process.argv[2] ?? 20);
const LOOK_MS = 5;

const node = await startOneNode();

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

try {
  const alone: number[] = [];
  const ours: number[] = [];
  const theirs: number[] = [];
  const events = await followRunning(node.server);
  const peer = new Swarm(node.socketPath);
  await peer.init();
  await peer.network('peers');
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = `one-${round}`;
    alone.push(await timed(() => node.runRaw(`raw-${name}`)));
    ours.push(
      await timed(async () => {
        await node.server.call('POST', '/api/v1/deployments', { name, image: node.image, command: COMMAND });
        await events.of(name);
      }),
    );
    if ((await node.running(name)) !== 1) throw new Error(`${name} does not run`);
    await node.server.call('DELETE', `/api/v1/deployments/${name}`);
    await node.removeRaw();
    await node.emptied();
    let service = '';
    theirs.push(
      await timed(async () => {
        const { image } = node;
        service = await peer.create({ name, image, command: COMMAND, replicas: 1, network: 'peers' });
        await until(async () => (await peer.running(service)) === 1, 'one task', LOOK_MS);
      }),
    );
    await peer.remove(service);
    await node.emptied();
  }
  await peer.leave();
  events.close();
  const show = (times: readonly number[]): string =>
    `p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms`;
  // Each over the engine's own in the same round: a machine is not the same from one minute to the next.
  const added = (times: readonly number[]): string => {
    const over = times.map((time, round) => time - (alone[round] ?? 0));
    return `adds ${percentile(over, 0.5).toFixed(0)} ms`;
  };
  process.stdout.write(
    `engine alone  ${show(alone)}\n` +
      `Berth  POST to running ${show(ours)}: ${added(ours)} (bar 40)\n` +
      `Swarm  POST to running ${show(theirs)}: ${added(theirs)}\n`,
  );
} finally {
  await node.stop();
}
