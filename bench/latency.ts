import { COMMAND, percentile, startOneNode, until } from './support/one-node.ts';
import { Swarm } from './support/swarm.ts';

/** One deployment from POST to running, over the engine's own create and start.   node bench/latency.ts [rounds] */
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
  for (let round = 0; round < ROUNDS; round += 1) {
    const name = `one-${round}`;
    alone.push(await timed(() => node.runRaw(`raw-${name}`)));
    ours.push(
      await timed(async () => {
        await node.server.call('POST', '/api/v1/deployments', { name, image: node.image, command: COMMAND });
        await until(async () => (await node.running(name)) === 1, name, LOOK_MS);
      }),
    );
    await node.server.call('DELETE', `/api/v1/deployments/${name}`);
    await node.removeRaw();
    await node.emptied();
  }
  const peer = new Swarm(node.socketPath);
  await peer.init();
  for (let round = 0; round < ROUNDS; round += 1) {
    let service = '';
    theirs.push(
      await timed(async () => {
        service = await peer.create(`one-${round}`, node.image, COMMAND, 1);
        await until(async () => (await peer.running(service)) === 1, 'one task', LOOK_MS);
      }),
    );
    await peer.remove(service);
  }
  await peer.leave();
  const show = (times: readonly number[]): string =>
    `p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${percentile(times, 0.99).toFixed(0)} ms`;
  const added = percentile(ours, 0.5) - percentile(alone, 0.5);
  process.stdout.write(
    `one deployment: engine alone ${show(alone)}; POST to running ${show(ours)}: adds ${added.toFixed(0)} ms (bar 100); Swarm ${show(theirs)}\n`,
  );
} finally {
  await node.stop();
}
