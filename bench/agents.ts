import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { beatFor, openSession, reportOf } from './support/agent-session.ts';
import { startChild } from './support/child.ts';
import { enrol, type Enrolled } from './support/enrol.ts';
import { cpuSeconds, rssMiB } from './support/process-cost.ts';
import { BENCH_TOKEN, type ServerProcess, startServerProcess } from './support/server-process.ts';

/**
 * Connected agents with nothing to say (a pulse every heartbeat, a report once a minute), against a control plane in a process of its own on loopback: its memory and
 * its share of a core, and the same number of bare sockets with the same messages both ways beside it. Each agent holds one descriptor in
 * each process. Usage: node bench/agents.ts [agents] [seconds]
 */
const agents = Number(process.argv[2] ?? 2000);
const seconds = Number(process.argv[3] ?? 20);
const PARALLEL = 32;
/** What a start leaves behind is collected after a second. */
const AT_REST_MS = 3000;
const RETRY_MS = 500;
const EXPLAINED = 5;
/** By its digest, so that nobody has to be asked for it. */
const UNREAD_IMAGE = `127.0.0.1:1/bench/web@sha256:${'a'.repeat(64)}`;

let lost = 0;
let refused = 0;
let signs = 0;
let heartbeatMs = 0;

/** As agents do: one that is refused comes again. */
async function opened(url: string, enrolled: Enrolled): ReturnType<typeof openSession> {
  for (;;) {
    try {
      return await openSession(url, enrolled);
    } catch (error) {
      if (refused === 0) process.stderr.write(`a session was refused: ${String(error)}\n`);
      refused += 1;
      await pause(RETRY_MS);
    }
  }
}

async function connect(url: string, enrolled: Enrolled): Promise<void> {
  const { socket, welcome } = await opened(url, enrolled);
  socket.on('pong', () => (signs += 1));
  ({ heartbeatMs } = welcome);
  beatFor(socket, reportOf(welcome.epoch), () => heartbeatMs, welcome.hearsPulses);
  socket.on('close', () => (lost += 1));
}

/** Share of a core over the given time, once what connecting left behind is done. */
async function shareOfCore(pid: number): Promise<number> {
  await pause(6000);
  const from = cpuSeconds(pid);
  const begun = performance.now();
  signs = 0;
  await pause(seconds * 1000);
  return (cpuSeconds(pid) - from) / ((performance.now() - begun) / 1000);
}

/** A deployment that no node can take, and why each of them cannot: a page of it. */
async function explain({ url, call }: ServerProcess): Promise<void> {
  const spec = { name: 'large', image: UNREAD_IMAGE, replicas: 1, resources: { requests: { cpu: 1000 } } };
  const made = await call('POST', '/api/v1/deployments', spec);
  if (made.status !== 201) throw new Error(`not made: ${JSON.stringify(made.body)}`);
  let slowestMs = 0;
  let largest = 0;
  for (let round = 0; round < EXPLAINED; round += 1) {
    const begun = performance.now();
    const answer = await fetch(`${url}/api/v1/deployments/large/explain`, {
      headers: { authorization: `Bearer ${BENCH_TOKEN}` },
    });
    largest = Math.max(largest, (await answer.text()).length);
    slowestMs = Math.max(slowestMs, performance.now() - begun);
    if (!answer.ok) throw new Error(`not explained: ${answer.status}`);
  }
  console.log(
    `explain on ${agents} nodes: a page of ${(largest / 1000).toFixed(1)} kB, slowest of ${EXPLAINED} after ${slowestMs.toFixed(0)} ms`,
  );
}

async function bareSockets(): Promise<void> {
  const bare = await startChild(new URL('./support/bare-sockets.ts', import.meta.url), [String(heartbeatMs)]);
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${bare.port}`, { perMessageDeflate: false });
    await once(socket, 'open');
    beatFor(socket, reportOf(1), () => heartbeatMs);
    return socket;
  };
  const sockets = await each(Array.from({ length: agents }), open);
  const spent = await shareOfCore(bare.pid);
  console.log(
    `sockets alone: RSS ${rssMiB(bare.pid).toFixed(0)} MiB, CPU ${(spent * 100).toFixed(1)} % of one core`,
  );
  for (const socket of sockets) socket.terminate();
  await bare.stop();
}

async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const item of queue) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
  return results;
}

// Its sources are compiled on the first start, which takes memory that a later start does not.
await (await startServerProcess()).stop();
const server = await startServerProcess({
  environment: { BERTH_AGENTS_SESSIONS_PER_SECOND: '10000', BERTH_METRICS_OPEN: 'true' },
});
try {
  await pause(AT_REST_MS);
  const idleMiB = rssMiB(server.pid);
  let begun = performance.now();
  const enrolled = await each(
    Array.from({ length: agents }, (_, index) => `node-${index}`),
    (name) => enrol(server.url, name),
  );
  console.log(
    `enrolled ${agents} in ${((performance.now() - begun) / 1000).toFixed(1)} s (${Math.round(agents / ((performance.now() - begun) / 1000))}/s)`,
  );
  const enrolledMiB = rssMiB(server.pid);
  begun = performance.now();
  await each(enrolled, (one) => connect(server.url, one));
  console.log(
    `connected ${agents} in ${((performance.now() - begun) / 1000).toFixed(1)} s (${Math.round(agents / ((performance.now() - begun) / 1000))}/s)`,
  );
  const spent = await shareOfCore(server.pid);
  const gauges = await (await fetch(`${server.url}/metrics`)).text();
  const gauge = (name: string): string =>
    (Number(new RegExp(`^nodejs_${name} (\\S+)`, 'm').exec(gauges)?.[1] ?? 0) / 2 ** 20).toFixed(0);
  console.log(
    `heap used ${gauge('heap_size_used_bytes')} MiB of ${gauge('heap_size_total_bytes')}, outside it ${gauge('external_memory_bytes')} MiB`,
  );
  console.log(
    `RSS idle ${idleMiB.toFixed(0)} MiB, enrolled ${enrolledMiB.toFixed(0)} MiB, connected ${rssMiB(server.pid).toFixed(0)} MiB`,
  );
  console.log(
    `CPU ${(spent * 100).toFixed(1)} % of one core over ${seconds} s; signs of life ${(signs / seconds).toFixed(0)}/s; sessions lost ${lost}, refused ${refused}`,
  );
  await explain(server);
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
}
const stopping = performance.now();
await server.stop();
console.log(`stopped in ${(performance.now() - stopping).toFixed(0)} ms`);
await bareSockets();
process.exit();
